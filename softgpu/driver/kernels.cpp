// SPDX-License-Identifier: Apache-2.0
#include "softgpu/driver/kernels.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/log.h"
#include "softgpu/kernel/names.h"
#include "softgpu/queue/workers.h"

namespace tidemark::softgpu {
namespace {

// A variable as its library was loaded; no bytes: all of it was zero.
struct InitialValue {
  const SoftgpuSymbol* symbol;
  std::vector<std::byte> bytes;
};

InitialValue initial_value(const SoftgpuSymbol& symbol) {
  auto const* const begin = static_cast<const std::byte*>(symbol.address);
  bool const zero = std::all_of(begin, begin + symbol.size_bytes, [](std::byte b) { return b == std::byte{}; });
  return {&symbol, zero ? std::vector<std::byte>() : std::vector<std::byte>(begin, begin + symbol.size_bytes)};
}

struct Bodies {
  std::vector<InitialValue> initial_values;
  std::unordered_map<std::string_view, const SoftgpuKernel*> kernels;
  std::unordered_map<std::string_view, const SoftgpuSymbol*> symbols;
};

Bodies& bodies() {
  static Bodies& instance = *new Bodies;
  return instance;
}

constexpr const char* kRemedy = "it must be built by this version's softgpu_kernel_library(), for this machine";

Result<void> open_library(const std::string& path) {
  // A name without a folder is a file here, not one to look for among the system's libraries.
  std::string const file = path.find('/') == std::string::npos ? "./" + path : path;
  void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const text = ::dlerror();
    std::string why = text != nullptr ? text : "cannot be opened";
    if (why.starts_with(file + ": ")) why.erase(0, file.size() + 2);
    return Error{Errc::InvalidArgument, path + ": " + why, kRemedy};
  }
  auto const entry = reinterpret_cast<SoftgpuKernelLibraryFn>(::dlsym(handle, SOFTGPU_KERNEL_LIBRARY_ENTRY));
  const SoftgpuKernelLibrary* const library = entry != nullptr ? entry() : nullptr;
  if (library == nullptr) return Error{Errc::InvalidArgument, path + ": not a kernel library", kRemedy};
  if (library->abi != SOFTGPU_KERNEL_ABI)
    return Error{Errc::InvalidArgument, path + ": a kernel library of another version of softgpu", kRemedy};
  for (std::uint32_t i = 0; i < library->kernel_count; ++i)
    bodies().kernels[library->kernels[i].name] = &library->kernels[i];
  for (std::uint32_t i = 0; i < library->symbol_count; ++i) {
    bodies().symbols[library->symbols[i].name] = &library->symbols[i];
    bodies().initial_values.push_back(initial_value(library->symbols[i]));
  }
  return {};
}

std::string beside_program() {
  std::array<char, PATH_MAX> path{};
  ssize_t const n = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  return n <= 0 ? std::string() : std::string(path.data(), static_cast<std::size_t>(n)) + ".softgpu.so";
}

Result<void> open_listed(std::string_view files) {
  if (files.find_first_not_of(':') == std::string_view::npos)
    return Error{Errc::InvalidArgument, "'" + std::string(files) + "' names no file", "write FILE or FILE:FILE"};
  while (!files.empty()) {
    auto const colon = files.find(':');
    if (colon != 0)
      if (auto opened = open_library(std::string(files.substr(0, colon))); !opened.ok()) return opened;
    files = colon == std::string_view::npos ? std::string_view{} : files.substr(colon + 1);
  }
  return {};
}

// As registered, else by the spelling that both compilers' names come down to.
template <class T>
const T* find_named(const std::unordered_map<std::string_view, const T*>& map, std::string_view name) {
  auto found = map.find(name);
  if (found == map.end()) found = map.find(canonical_name(name));
  return found == map.end() ? nullptr : found->second;
}

// The library has said on stderr what happened, with block and thread.
CUresult as_result(SoftgpuKernelStatus status) {
  switch (status) {
    case SOFTGPU_KERNEL_OK: return CUDA_SUCCESS;
    case SOFTGPU_KERNEL_ASSERT: return CUDA_ERROR_ASSERT;
    case SOFTGPU_KERNEL_STACK_OVERFLOW:
    case SOFTGPU_KERNEL_ILLEGAL_ADDRESS: return CUDA_ERROR_ILLEGAL_ADDRESS;
    default: return CUDA_ERROR_LAUNCH_FAILED;
  }
}

}  // namespace

Result<std::string> load_kernel_libraries(Driver& driver) {
  Config const& config = driver.config;
  std::string files = config.kernel_libraries;
  if (!files.empty()) {
    if (auto opened = open_listed(files); !opened.ok()) {
      Error error = opened.error();
      error.what = "SOFTGPU_KERNELS: " + error.what;
      return error;
    }
  } else if (config.run_mode != RunMode::DryRun) {
    files = beside_program();
    if (::access(files.c_str(), F_OK) != 0) files.clear();
    if (!files.empty())
      if (auto opened = open_library(files); !opened.ok())
        return Error{Errc::InvalidArgument, opened.error().what, opened.error().hint + "; or set SOFTGPU_DRY_RUN=1"};
  }
  driver.dry_run = config.run_mode == RunMode::DryRun || (config.run_mode == RunMode::Auto && files.empty());
  if (config.run_mode != RunMode::Auto) return std::string(driver.dry_run ? "SOFTGPU_DRY_RUN=1" : "SOFTGPU_DRY_RUN=0");
  return files.empty() ? "no CPU bodies of kernels were found" : "bodies from " + files;
}

const SoftgpuKernel* find_body(std::string_view mangled) {
  return find_named(bodies().kernels, mangled);
}

void restore_symbols() {
  for (InitialValue const& value : bodies().initial_values) {
    if (value.bytes.empty()) {
      std::memset(value.symbol->address, 0, value.symbol->size_bytes);
    } else {
      std::memcpy(value.symbol->address, value.bytes.data(), value.bytes.size());
    }
  }
}

const SoftgpuSymbol* find_symbol(std::string_view name) {
  return find_named(bodies().symbols, name);
}

// The demangled text ends in a parameter list; a parameter whose type ends in '*' is a pointer.
std::vector<SoftgpuParam> params_from_name(const std::string& mangled) {
  int status = 0;
  char* const plain = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string const text = status == 0 && plain != nullptr ? plain : "";
  std::free(plain);
  std::vector<SoftgpuParam> params;
  if (text.empty() || text.back() != ')') return params;
  int depth = 0;
  std::size_t open = text.size();
  while (open-- > 0) {
    if (text[open] == ')') ++depth;
    if (text[open] == '(' && --depth == 0) break;
  }
  std::string_view const list = std::string_view(text).substr(open + 1, text.size() - open - 2);
  if (list.empty()) return params;
  std::size_t begin = 0;
  depth = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    char const c = i < list.size() ? list[i] : ',';
    if (c == '<' || c == '(' || c == '[') ++depth;
    if (c == '>' || c == ')' || c == ']') --depth;
    if (c != ',' || depth != 0) continue;
    std::string_view const type = list.substr(begin, i - begin);
    bool const pointer = !type.empty() && type.back() == '*';
    params.push_back({.size_bytes = pointer ? 8u : 0u, .align_bytes = 8, .is_pointer = pointer ? 1u : 0u});
    begin = i + 1;
  }
  return params;
}

CUresult run_kernel(const KernelOp& op) {
  const SoftgpuKernel& body = *op.kernel->body;
  std::vector<void*> params(op.offsets.size());
  for (std::size_t i = 0; i < params.size(); ++i) params[i] = const_cast<std::byte*>(op.bytes.data()) + op.offsets[i];
  SoftgpuDim const g = op.launch.grid, b = op.launch.block;
  std::uint64_t const blocks = std::uint64_t{g.x} * g.y * g.z;
  std::uint64_t const threads_per_block = std::uint64_t{b.x} * b.y * b.z;
  // Waking another thread costs about as much as this many threads of a small kernel.
  std::uint64_t const grain = std::max<std::uint64_t>(1, 4096 / threads_per_block);
  // The blocks of a cooperative launch meet on one thread: no worker then waits for one that has not begun.
  bool const one_thread = (body.flags & SOFTGPU_KERNEL_SERIAL) != 0 || op.launch.cooperative != 0;
  int const workers = one_thread ? 1 : Driver::get().config.workers;
  std::atomic<int> result{CUDA_SUCCESS};
  parallel_for(blocks, grain, workers, [&](std::uint64_t first, std::uint64_t last) {
    if (result.load(std::memory_order_relaxed) != CUDA_SUCCESS) return;
    CUresult const outcome = as_result(body.run(&op.launch, params.data(), first, last));
    if (outcome != CUDA_SUCCESS) result.store(outcome, std::memory_order_relaxed);
  });
  return static_cast<CUresult>(result.load());
}

}  // namespace tidemark::softgpu
