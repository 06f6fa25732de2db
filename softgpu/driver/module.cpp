// SPDX-License-Identifier: Apache-2.0
#include "softgpu/driver/module.h"

#include <fatbinary_section.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "base/log.h"
#include "softgpu/driver/contents.h"
#include "softgpu/driver/function.h"
#include "softgpu/driver/kernels.h"
#include "softgpu/driver/memory.h"
#include "softgpu/driver/observe.h"
#include "softgpu/interface/softgpu.h"
#include "softgpu/model/image.h"

using namespace tidemark;
using namespace tidemark::softgpu;

namespace {

// Names that the runtime has told us an image holds; under the engine's lock.
std::map<const void*, ImageNames>& described() {
  static auto& map = *new std::map<const void*, ImageNames>;
  return map;
}

// A wrapper struct in the program's data points at the image proper.
const void* unwrap(const void* image) {
  __fatBinC_Wrapper_t wrapper;
  std::memcpy(&wrapper.magic, image, sizeof wrapper.magic);
  if (wrapper.magic != FATBINC_MAGIC) return image;
  std::memcpy(&wrapper, image, sizeof wrapper);
  return wrapper.data;
}

CUkernel add_kernel(Driver& driver, CUlibrary library, const ImageNames::Kernel& described) {
  std::string const& name = described.name;
  CUkernel const kernel = driver.kernels.create();
  kernel->name = name;
  kernel->static_shared_bytes = described.static_shared_bytes;
  kernel->thread_limit = described.thread_limit;
  kernel->launches = described.launches;
  kernel->library = library;
  kernel->body = find_body(name);
  if (kernel->body != nullptr) {
    kernel->params.assign(kernel->body->params, kernel->body->params + kernel->body->param_count);
    kernel->params_known = true;
  } else {
    kernel->params = params_from_name(name);
  }
  library->kernels.push_back(kernel);
  library->kernel_by_name.emplace(name, kernel);
  return kernel;
}

// bytes: 0 when the image came without a length.
CUresult load_library(Call& call, CUlibrary* out, const void* image, std::uint64_t bytes) {
  if (out == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ImageNames names;
  auto const told = described().find(image);
  if (told != described().end()) {
    names = std::move(told->second);
  } else {
    const void* const inner = unwrap(image);
    std::uint64_t const length = inner == image && bytes != 0 ? bytes : image_length(inner);
    names = read_image({static_cast<const std::byte*>(inner), length}, architecture_of(*call.driver.config.profile));
    if (names.kind == ImageNames::Kind::Invalid) return CUDA_ERROR_INVALID_IMAGE;
  }
  CUlibrary const library = call.driver.libraries.create();
  library->image = image;
  library->names_known = told != described().end() || names.readable;
  // A registered image stays where it is and may be large: it is read when something asks. Others are the caller's.
  library->facts_read = told == described().end();
  if (told != described().end()) described().erase(told);  // another image may come to lie there
  library->architecture = names.architecture;
  library->constant_bytes = names.constant_bytes;
  for (ImageNames::Kernel const& kernel : names.kernels) add_kernel(call.driver, library, kernel);
  for (ImageNames::Variable const& v : names.variables)
    library->variables[v.name] = {.bytes = v.bytes, .managed = v.managed};
  *out = library;
  return CUDA_SUCCESS;
}

CUkernel find_kernel(Driver& driver, CUlibrary library, const char* name) {
  auto const found = library->kernel_by_name.find(std::string_view(name));
  if (found != library->kernel_by_name.end()) return found->second;
  // The image could not be read: any name in dry run, one with a body otherwise.
  if (!library->names_known && (driver.dry_run || find_body(name) != nullptr))
    return add_kernel(driver, library, {.name = name});
  return nullptr;
}

CUmodule module_in(Driver& driver, CUlibrary library, CUcontext context) {
  CUmodule& module = library->modules[context];
  if (module == nullptr) {
    module = driver.modules.create();
    module->id = driver.next_id();
    module->context = context;
    module->library = library;
    observe_created(module);
  }
  return module;
}

CUfunction function_in(Driver& driver, CUkernel kernel, CUmodule module) {
  CUfunction& function = kernel->functions[module];
  if (function == nullptr) {
    function = driver.functions.create();
    function->kernel = kernel;
    function->module = module;
  }
  return function;
}

// A variable's memory on the current device. With a CPU body it is the body's own variable, which holds its initial
// value.
Block* variable_block(Call& call, const std::string& name, CUlib_st::Variable& variable) {
  Block*& block = variable.blocks[call.device().ordinal];
  if (block != nullptr) return block;
  if (const SoftgpuSymbol* const symbol = call.driver.dry_run ? nullptr : find_symbol(name)) {
    auto const address = reinterpret_cast<std::uintptr_t>(symbol->address);
    block = call.driver.blocks.find(address);  // one variable, however many devices and images name it
    if (block == nullptr)
      block = call.driver.blocks.create({.address = address,
                                         .requested = symbol->size_bytes,
                                         .rounded = symbol->size_bytes,
                                         .kind = variable.managed ? MemoryKind::Managed : MemoryKind::Symbol,
                                         .device = call.device().ordinal,
                                         .borrowed = true,
                                         .context = call.context,
                                         .owner = const_cast<SoftgpuSymbol*>(symbol)},
                                        true);
    block->context = call.context;
    if (call.driver.checker != nullptr)
      call.driver.checker->appear(Checker::View::Both, address, symbol->size_bytes, block->id);
    observe_allocated(call.driver, *block, nullptr, name.c_str());
    return block;
  }
  say_once("symbols start at zero", "softgpu",
           "initial values of __device__ variables come from a CPU build; without one they start at zero");
  std::uint64_t const size = std::max<std::uint64_t>(1, variable.bytes);
  block = variable.managed ? allocate_host(call, size, CU_MEM_ATTACH_GLOBAL, MemoryKind::Managed)
                           : allocate_device(call, size);
  if (block != nullptr) {
    std::memset(reinterpret_cast<void*>(block->address), 0, std::min<std::uint64_t>(variable.bytes, 1u << 20));
    block->owner = &variable;
    observe_allocated(call.driver, *block, nullptr, name.c_str());
  }
  return block;
}

CUresult global_of(Call& call, CUlibrary library, const char* name, CUdeviceptr* address, size_t* bytes) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto const found = library->variables.find(std::string_view(name));
  if (found == library->variables.end()) return CUDA_ERROR_NOT_FOUND;
  Block const* const block = variable_block(call, found->first, found->second);
  if (block == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  if (address != nullptr) *address = block->address;
  if (bytes != nullptr) *bytes = found->second.bytes != 0 ? found->second.bytes : block->requested;
  return CUDA_SUCCESS;
}

CUresult load_module(CUmodule* out, const void* image, std::uint64_t bytes) {
  return with_context([&](Call& call) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUlibrary library = nullptr;
    CUresult const result = load_library(call, &library, image, bytes);
    if (result != CUDA_SUCCESS) return result;
    CUmodule const module = module_in(call.driver, library, call.context);
    module->owns_library = true;
    *out = module;
    return CUDA_SUCCESS;
  });
}

template <class F>
CUresult with_library(CUlibrary library, F f) {
  return with_driver([&](Call& call) -> CUresult {
    return call.driver.libraries.check(library) == nullptr ? CUDA_ERROR_INVALID_HANDLE : f(call);
  });
}

template <class F>
CUresult with_module(CUmodule module, F f) {
  return with_context([&](Call& call) -> CUresult {
    return call.driver.modules.check(module) == nullptr ? CUDA_ERROR_INVALID_HANDLE : f(call);
  });
}

}  // namespace

std::optional<std::vector<std::byte>> tidemark::softgpu::read_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::vector<char> const chars{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::byte> bytes(chars.size() + 1);  // a final zero: PTX without one ends there
  std::memcpy(bytes.data(), chars.data(), chars.size());
  return bytes;
}

CUkernel tidemark::softgpu::kernel_of(Call& call, CUfunction function) {
  if (CUfunction const f = call.driver.functions.check(function)) return f->kernel;
  return call.driver.kernels.check(function);
}

void tidemark::softgpu::read_facts(CUlibrary library) {
  if (library->facts_read) return;
  library->facts_read = true;
  const void* const image = unwrap(library->image);
  ImageNames const names = read_image({static_cast<const std::byte*>(image), image_length(image)},
                                      architecture_of(*Driver::get().config.profile));
  library->architecture = names.architecture;
  library->constant_bytes = names.constant_bytes;
  for (ImageNames::Kernel const& read : names.kernels) {
    auto const found = library->kernel_by_name.find(read.name);
    if (found == library->kernel_by_name.end()) continue;
    found->second->static_shared_bytes = read.static_shared_bytes;
    if (read.thread_limit != 0) found->second->thread_limit = read.thread_limit;
    found->second->launches = read.launches;
  }
}

void tidemark::softgpu::unload_library(Driver& driver, CUlibrary library) {
  for (CUkernel const kernel : library->kernels) {
    for (auto const& [module, function] : kernel->functions) driver.functions.destroy(function);
    driver.kernels.destroy(kernel);
  }
  for (auto& [name, variable] : library->variables)
    for (auto const& [device, block] : variable.blocks)
      if (block != nullptr) release_block(driver, block);
  for (auto const& [context, module] : library->modules) driver.modules.destroy(module);
  driver.libraries.destroy(library);
}

extern "C" __attribute__((visibility("default"))) void softgpu_describe_image(const void* image, const char* kind,
                                                                              const char* name, size_t bytes) {
  Driver* const driver = Driver::configured();
  if (driver == nullptr || driver->forked || image == nullptr || kind == nullptr || name == nullptr) return;
  Lock const lock(driver->engine.mutex());
  ImageNames& names = described()[image];
  names.kind = ImageNames::Kind::Fatbin;
  if (std::strcmp(kind, "kernel") == 0) {
    names.kernels.push_back({.name = name, .thread_limit = static_cast<std::uint32_t>(bytes)});
  } else {
    names.variables.push_back({name, bytes, std::strcmp(kind, "managed") == 0});
  }
}

CUresult CUDAAPI cuModuleLoadData(CUmodule* module, const void* image) {
  return load_module(module, image, 0);
}

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
  return load_module(module, image, 0);
}

CUresult CUDAAPI cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return load_module(module, image, 0);
}

CUresult CUDAAPI cuModuleLoad(CUmodule* module, const char* path) {
  if (module == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto const bytes = read_file(path);
  return bytes ? load_module(module, bytes->data(), bytes->size()) : CUDA_ERROR_FILE_NOT_FOUND;
}

CUresult CUDAAPI cuModuleUnload(CUmodule module) {
  return with_module(module, [&](Call& call) -> CUresult {
    if (!module->owns_library) return CUDA_ERROR_NOT_PERMITTED;
    CUlibrary const library = module->library;
    call.engine().wait_group(call.lock, *module->context);
    // Another thread may have unloaded it while this one waited.
    if (call.driver.modules.check(module) == nullptr || module->library != library || !announce_end(call, library))
      return CUDA_ERROR_INVALID_HANDLE;
    unload_library(call.driver, library);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction* out, CUmodule module, const char* name) {
  return with_module(module, [&](Call& call) -> CUresult {
    if (out == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUkernel const kernel = find_kernel(call.driver, module->library, name);
    if (kernel == nullptr) return CUDA_ERROR_NOT_FOUND;
    *out = function_in(call.driver, kernel, module);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuModuleGetFunctionCount(unsigned* count, CUmodule module) {
  return with_module(module, [&](Call&) -> CUresult {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<unsigned>(module->library->kernels.size());
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuModuleEnumerateFunctions(CUfunction* out, unsigned count, CUmodule module) {
  return with_module(module, [&](Call& call) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto const& kernels = module->library->kernels;
    for (unsigned i = 0; i < count && i < kernels.size(); ++i) out[i] = function_in(call.driver, kernels[i], module);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  return with_module(module, [&](Call& call) { return global_of(call, module->library, name, address, bytes); });
}

CUresult CUDAAPI cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned,
                                   CUlibraryOption*, void**, unsigned) {
  return with_driver([&](Call& call) { return load_library(call, library, code, 0); });
}

CUresult CUDAAPI cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option*, void**, unsigned,
                                       CUlibraryOption*, void**, unsigned) {
  if (library == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto const bytes = read_file(path);
  if (!bytes) return CUDA_ERROR_FILE_NOT_FOUND;
  return with_driver([&](Call& call) { return load_library(call, library, bytes->data(), bytes->size()); });
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary library) {
  return with_library(library, [&](Call& call) -> CUresult {
    call.driver.contexts.for_each([&](CUctx_st& context) { call.engine().wait_group(call.lock, context); });
    // Another thread may have unloaded it while this one waited.
    if (call.driver.libraries.check(library) == nullptr || !announce_end(call, library))
      return CUDA_ERROR_INVALID_HANDLE;
    unload_library(call.driver, library);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel* out, CUlibrary library, const char* name) {
  return with_library(library, [&](Call& call) -> CUresult {
    if (out == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = find_kernel(call.driver, library, name);
    return *out != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
  });
}

CUresult CUDAAPI cuLibraryGetKernelCount(unsigned* count, CUlibrary library) {
  return with_library(library, [&](Call&) -> CUresult {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<unsigned>(library->kernels.size());
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuLibraryEnumerateKernels(CUkernel* out, unsigned count, CUlibrary library) {
  return with_library(library, [&](Call&) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count && i < library->kernels.size(); ++i) out[i] = library->kernels[i];
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuLibraryGetModule(CUmodule* out, CUlibrary library) {
  return with_context([&](Call& call) -> CUresult {
    if (call.driver.libraries.check(library) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = module_in(call.driver, library, call.context);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
  return with_context([&](Call& call) -> CUresult {
    if (call.driver.libraries.check(library) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    return global_of(call, library, name, address, bytes);
  });
}

CUresult CUDAAPI cuLibraryGetManaged(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
  return cuLibraryGetGlobal(address, bytes, library, name);
}
