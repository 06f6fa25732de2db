// SPDX-License-Identifier: Apache-2.0
// A process without CUDA: what we export must not make a program believe that there is any.
#include "tests/integration/doors/process.h"

namespace tidemark::doors {
namespace {

TEST(Absent, NoNameIsFoundThatOnlyWeHave) {
  for (const char* const name : {"cuMemAlloc_v2", "cuLaunchKernel", "cuGetProcAddress_v2", "cudaMalloc",
                                 "cudaLaunchKernel", "__cudaLaunchKernel", "nvmlDeviceGetMemoryInfo"}) {
    for (void* const where : {RTLD_DEFAULT, RTLD_NEXT, dlopen(nullptr, RTLD_NOW)}) {
      EXPECT_EQ(dlsym(where, name), nullptr) << name;
      const char* const message = dlerror();
      ASSERT_NE(message, nullptr) << name;
      EXPECT_NE(std::string(message).find(name), std::string::npos) << message;
    }
  }
}

TEST(Absent, OtherNamesAreFoundAsEver) {
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "malloc"), plain_dlsym(RTLD_DEFAULT, "malloc"));
  EXPECT_NE(dlsym(RTLD_NEXT, "free"), nullptr);
  EXPECT_EQ(dlerror(), nullptr);
}

TEST(Absent, AnExportedNameSaysThatItIsNotSupported) {
  EXPECT_EQ(reinterpret_cast<int (*)(void**, std::size_t)>(exported("cuMemAlloc_v2"))(nullptr, 1), 801);
  EXPECT_EQ(reinterpret_cast<int (*)(void*)>(exported("cuStreamSynchronize"))(nullptr), 801);
  EXPECT_EQ(reinterpret_cast<int (*)()>(exported("cudaDeviceSynchronize", "libcudart.so.13"))(), 801);
  EXPECT_EQ(reinterpret_cast<int (*)(void**, std::size_t)>(exported("cudaMalloc", "libcudart.so.12"))(nullptr, 1), 801);
}

}  // namespace
}  // namespace tidemark::doors
