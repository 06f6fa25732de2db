// SPDX-License-Identifier: Apache-2.0
// How clients come to a hook by looking a function up, on libraries that only note what they are called with.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#undef __CUDA_API_VERSION_INTERNAL

#include <map>
#include <set>

#include "tests/integration/doors/process.h"

namespace tidemark::doors {
namespace {

struct Proc {
  std::string plain;
  int version;
  std::string symbol, twin;
};
const Proc kProcs[] = {
#define FAKE_NAME(symbol)
#define FAKE_PROC(plain, version, symbol, twin) {#plain, version, #symbol, #twin},
#include <driver.inc>
#undef FAKE_NAME
#undef FAKE_PROC
};

std::set<std::string> read_hooked() {
  std::set<std::string> names;
#define TIDEMARK_HOOKED_NAME(symbol, library, hook) names.insert(#symbol);
#define TIDEMARK_ORDER_NAME(symbol, library, number)
#include <hooked_names.inc>
#undef TIDEMARK_HOOKED_NAME
#undef TIDEMARK_ORDER_NAME
  return names;
}
const std::set<std::string> kHooked = read_hooked();

using Ask5 = decltype(&cuGetProcAddress_v2);
using Ask4 = decltype(&cuGetProcAddress);

class Lookup : public testing::Test {
 protected:
  Fake driver_{"libcuda.so.1"};
  Ask5 ask5_ = reinterpret_cast<Ask5>(dlsym(driver_.handle(), "cuGetProcAddress_v2"));
  Ask5 real5_ = reinterpret_cast<Ask5>(driver_.own("cuGetProcAddress_v2"));
};

TEST_F(Lookup, DlsymOnTheDriversHandleGivesHooksForExactlyTheHookedNames) {
  int hooks = 0;
  for (const Proc& proc : kProcs)
    for (const std::string& symbol : {proc.symbol, proc.twin}) {
      if (symbol == "0") continue;
      void* const found = dlsym(driver_.handle(), symbol.c_str());
      EXPECT_EQ(is_hook(found), kHooked.contains(symbol)) << symbol;
      EXPECT_TRUE(is_hook(found) || found == driver_.own(symbol.c_str())) << symbol;
      hooks += is_hook(found) ? 1 : 0;
      EXPECT_EQ(dlerror(), nullptr) << symbol;
    }
  EXPECT_GT(hooks, 60);
}

// Programs linked before and after libdl became part of libc.
TEST_F(Lookup, DlsymIsOursUnderBothOfItsVersions) {
  void* const hook = dlsym(driver_.handle(), "cuMemAlloc_v2");
  for (const char* const version : {"GLIBC_2.2.5", "GLIBC_2.34"}) {
    auto const look_up = reinterpret_cast<void* (*)(void*, const char*)>(exported("dlsym", version));
    ASSERT_NE(look_up, nullptr) << version;
    EXPECT_EQ(look_up(driver_.handle(), "cuMemAlloc_v2"), hook);
    EXPECT_EQ(look_up(driver_.handle(), "cuInit"), driver_.own("cuInit"));
  }
}

// Every (name, version, flag) that the toolkit's headers know: the hook of the very symbol, or the driver's own answer.
TEST_F(Lookup, CuGetProcAddressGivesTheHookOfTheAbiThatWasAskedFor) {
  int hooks = 0;
  for (const Proc& proc : kProcs)
    for (cuuint64_t const flags : {0, 1, 2}) {
      SCOPED_TRACE(proc.plain + " " + std::to_string(proc.version) + " flags " + std::to_string(flags));
      std::string const symbol = flags == 2 && proc.twin != "0" ? proc.twin : proc.symbol;
      void *found = nullptr, *real = nullptr;
      CUdriverProcAddressQueryResult status{}, real_status{};
      CUresult const real_result = real5_(proc.plain.c_str(), &real, proc.version, flags, &real_status);
      EXPECT_EQ(ask5_(proc.plain.c_str(), &found, proc.version, flags, &status), real_result);
      EXPECT_EQ(status, real_status);
      if (kHooked.contains(symbol)) {
        EXPECT_EQ(found, dlsym(driver_.handle(), symbol.c_str()));
        EXPECT_TRUE(is_hook(found));
        ++hooks;
      } else {
        EXPECT_EQ(found, real);
      }
    }
  EXPECT_GT(hooks, 170);
}

TEST_F(Lookup, WhatTheDriverDoesNotHaveStaysItsAnswer) {
  void* found = &found;
  CUdriverProcAddressQueryResult status{};
  EXPECT_EQ(ask5_("cuNothing", &found, 13000, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(found, nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT_EQ(ask5_("cuMemAllocAsync", &found, 11010, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(found, nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_EQ(ask5_("cuMemAllocAsync", &found, 11010, 0, nullptr), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(ask5_("", &found, 13000, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(found, nullptr);
}

TEST_F(Lookup, NullArgumentsReachTheDriver) {
  void* found = nullptr;
  EXPECT_EQ(ask5_(nullptr, &found, 13000, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(ask5_("cuMemAlloc", nullptr, 13000, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(ask5_("cuMemAlloc", &found, 13000, 0, nullptr), CUDA_SUCCESS);  // no status is wanted
  EXPECT_TRUE(is_hook(found));
}

TEST_F(Lookup, CuGetProcAddressItselfIsHandedOutInTheFormOfTheVersion) {
  void *form4 = nullptr, *form5 = nullptr;
  EXPECT_EQ(ask5_("cuGetProcAddress", &form4, 11030, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(ask5_("cuGetProcAddress", &form5, 12000, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(form4, dlsym(driver_.handle(), "cuGetProcAddress"));
  EXPECT_EQ(form5, reinterpret_cast<void*>(ask5_));
  EXPECT_NE(form4, form5);
  EXPECT_TRUE(is_hook(form4));
  void* found = nullptr;
  EXPECT_EQ(reinterpret_cast<Ask4>(form4)("cuMemAlloc", &found, 3020, 0), CUDA_SUCCESS);
  EXPECT_EQ(found, dlsym(driver_.handle(), "cuMemAlloc_v2"));
}

TEST_F(Lookup, AnAddressThatIsNotTheFunctionsIsNotSwapped) {
  static int somebody_elses = 0;
  void* found = nullptr;
  EXPECT_EQ(ask5_("cuMemAlloc", &found, 3020, 0, nullptr), CUDA_SUCCESS);
  EXPECT_TRUE(is_hook(found));
  auto const replaced = driver_.replace(
      "cuGetProcAddress_v2", +[](const char*, void** function, int, cuuint64_t, CUdriverProcAddressQueryResult*) {
        *function = &somebody_elses;
        return CUDA_SUCCESS;
      });
  EXPECT_EQ(ask5_("cuMemAlloc", &found, 3020, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(found, &somebody_elses);
}

TEST_F(Lookup, ACallByAnyWayArrivesOnceAndInItsOwnForm) {
  static int calls = 0;
  auto const replaced = driver_.replace(
      "cuMemFreeHost", +[](void*) {
        ++calls;
        return CUDA_ERROR_INVALID_VALUE;
      });
  void* handed_out = nullptr;
  EXPECT_EQ(ask5_("cuMemFreeHost", &handed_out, 2000, 0, nullptr), CUDA_SUCCESS);
  for (void* const way : {handed_out, dlsym(driver_.handle(), "cuMemFreeHost"), exported("cuMemFreeHost")}) {
    int const before = calls;
    EXPECT_EQ(reinterpret_cast<decltype(&cuMemFreeHost)>(way)(nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(calls, before + 1);
  }
}

// libcuda looks itself up by name (WSL's does), and must find itself and not us.
TEST_F(Lookup, TheDriverFindsItself) {
  EXPECT_EQ(driver_.looks_up("cuMemAlloc_v2"), driver_.own("cuMemAlloc_v2"));
  EXPECT_EQ(driver_.looks_up("cuInit"), driver_.own("cuInit"));
}

TEST_F(Lookup, NamesThatOnlyBeginLikeOursPass) {
  for (const char* const name : {"cublasCreate_v2", "cudnnGetVersion", "curl_easy_init", "cuMemAlloc_v2x",
                                 "cuMemAlloc_v", "cu", "", "cudaMallocX", "nvmlX"}) {
    EXPECT_EQ(dlsym(driver_.handle(), name), nullptr) << name;
    EXPECT_NE(dlerror(), nullptr) << name;
  }
}

TEST_F(Lookup, AMissingNameLeavesItsMessage) {
  void* const libm = open_library("libm.so.6");
  EXPECT_EQ(dlsym(libm, "cuMemAlloc_v2"), nullptr);
  const char* const message = dlerror();
  ASSERT_NE(message, nullptr);
  EXPECT_NE(std::string(message).find("cuMemAlloc_v2"), std::string::npos) << message;
}

TEST_F(Lookup, ARuntimesNamesGetTheHookOfTheirVersion) {
  Fake runtime_12("libcudart.so.12"), runtime_13("libcudart.so.13");
  void* const hook_12 = dlsym(runtime_12.handle(), "cudaMalloc");
  void* const hook_13 = dlsym(runtime_13.handle(), "cudaMalloc");
  EXPECT_TRUE(is_hook(hook_12));
  EXPECT_TRUE(is_hook(hook_13));
  EXPECT_NE(hook_12, hook_13);
  EXPECT_FALSE(is_hook(dlsym(runtime_13.handle(), "cudaRuntimeGetVersion")));
  FakeCall seen{};
  void* block = nullptr;
  using Malloc = int (*)(void**, std::size_t);
  runtime_12.forget(), runtime_13.forget();
  EXPECT_EQ(reinterpret_cast<Malloc>(hook_12)(&block, 5), 0);
  EXPECT_EQ(runtime_12.calls(seen), 1);
  EXPECT_EQ(runtime_13.calls(seen), 0);
  EXPECT_EQ(reinterpret_cast<Malloc>(hook_13)(&block, 5), 0);
  EXPECT_EQ(runtime_12.calls(seen), 1);
  EXPECT_EQ(runtime_13.calls(seen), 1);
  EXPECT_STREQ(seen.symbol, "cudaMalloc");
}

// Another copy of a library has a state of its own: its functions are not ours to answer.
TEST_F(Lookup, ASecondCopyOfALibraryPasses) {
  open_library("libcudart.so.13");
  void* const copy = open_library(FAKE_COPY_OF_RUNTIME);
  void* const found = dlsym(copy, "cudaMalloc");
  EXPECT_NE(found, nullptr);
  EXPECT_FALSE(is_hook(found));
  EXPECT_EQ(found, plain_dlsym(copy, "cudaMalloc"));
}

// Only in a scope of its own, where this program does not look; but a plugin that was linked to it would.
TEST_F(Lookup, BySearchOrderAnExportedNameIsFoundWhenTheLibraryIsSomewhere) {
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"), exported("cuMemAlloc_v2"));
}

// Here the driver is in the global scope (this program is linked to nothing of CUDA's).
TEST_F(Lookup, BySearchOrderTheHookIsFoundOnceTheLibraryIsThere) {
  ASSERT_NE(dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL), nullptr);
  void* const hook = dlsym(driver_.handle(), "cuMemAlloc_v2");
  for (int round = 0; round < 3; ++round) {  // a second lookup is as good as the first
    EXPECT_EQ(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"), hook);
    EXPECT_EQ(dlsym(RTLD_NEXT, "cuMemAlloc_v2"), hook);
    EXPECT_EQ(dlsym(dlopen(nullptr, RTLD_NOW), "cuMemAlloc_v2"), hook);
  }
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "cuLaunchKernel"), driver_.own("cuLaunchKernel"));
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "cuInit"), driver_.own("cuInit"));
}

}  // namespace
}  // namespace tidemark::doors
