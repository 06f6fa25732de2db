// SPDX-License-Identifier: Apache-2.0
// The vendor's runtime linked statically, as nvcc does it by default: it looks up one function by dlsym and some
// hundred more by what it got. On a driver that answers lookups and nothing else; so the runtime gives up, but what it
// has collected until then lies in this program's own memory.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#undef __CUDA_API_VERSION_INTERNAL
#include <cuda_runtime_api.h>

#include <algorithm>
#include <set>
#include <span>
#include <vector>

#include "tests/integration/doors/process.h"

namespace tidemark::doors {
namespace {

// The words of this program's data, where the runtime keeps its functions.
std::vector<std::span<void* const>> data_of_this_program() {
  std::vector<std::span<void* const>> found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          auto const& part = info->dlpi_phdr[i];
          if (part.p_type != PT_LOAD || (part.p_flags & PF_W) == 0) continue;
          std::uintptr_t const begin = (info->dlpi_addr + part.p_vaddr + 7) & ~std::uintptr_t{7};
          static_cast<std::vector<std::span<void* const>>*>(out)->emplace_back(reinterpret_cast<void* const*>(begin),
                                                                               part.p_memsz / 8 - 1);
        }
        return 1;  // the first is the program
      },
      &found);
  return found;
}

bool is_kept(void* function) {
  auto const all = data_of_this_program();
  return std::any_of(all.begin(), all.end(),
                     [&](auto words) { return std::find(words.begin(), words.end(), function) != words.end(); });
}

struct Asked {
  std::string plain;
  int version;
  cuuint64_t flags;
  void* answer;
};
std::vector<Asked>& asked() {
  static auto& all = *new std::vector<Asked>;
  return all;
}
decltype(&cuGetProcAddress_v2)& real_ask() {
  static auto& function = *new decltype(&cuGetProcAddress_v2);
  return function;
}

TEST(StaticRuntime, KeepsAHookForEveryHookedFunctionThatItAskedFor) {
  Fake const driver("libcuda.so.1");
  auto const version = driver.replace(
      "cuDriverGetVersion", +[](int* out) {
        *out = 13000;
        return CUDA_SUCCESS;
      });
  auto const table = driver.replace(
      "cuGetExportTable", +[](const void**, const CUuuid*) { return CUDA_ERROR_NOT_FOUND; });
  auto const ask = driver.replace(
      "cuGetProcAddress_v2",
      +[](const char* plain, void** out, int v, cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
        CUresult const result = real_ask()(plain, out, v, flags, status);
        if (result == CUDA_SUCCESS && *out != nullptr) asked().push_back({plain, v, flags, *out});
        return result;
      });
  real_ask() = reinterpret_cast<decltype(&cuGetProcAddress_v2)>(ask.before());

  void* block = nullptr;
  EXPECT_NE(cudaMalloc(&block, 1), cudaSuccess);
  std::vector<Asked> const questions = asked();
  ASSERT_GT(questions.size(), 300u) << "the runtime did not get as far as its lookups";

  // We ask for every form of a name, the runtime for one: that one it keeps.
  std::set<std::string> hooked, kept;
  auto const again = reinterpret_cast<decltype(&cuGetProcAddress_v2)>(dlsym(driver.handle(), "cuGetProcAddress_v2"));
  for (const Asked& one : questions) {
    void* given = nullptr;
    EXPECT_EQ(again(one.plain.c_str(), &given, one.version, one.flags, nullptr), CUDA_SUCCESS);
    if (!is_hook(given)) continue;
    hooked.insert(one.plain);
    EXPECT_FALSE(is_kept(one.answer)) << one.plain << " " << one.version << ": the driver's own function";
    if (is_kept(given)) kept.insert(one.plain);
  }
  EXPECT_EQ(hooked, kept);
  EXPECT_GT(hooked.size(), 40u);
  for (const char* const name :
       {"cuMemAlloc", "cuMemFree", "cuMemAllocAsync", "cuMemFreeAsync", "cuMemGetInfo", "cuMemHostAlloc"})
    EXPECT_TRUE(hooked.contains(name)) << name;
}

}  // namespace
}  // namespace tidemark::doors
