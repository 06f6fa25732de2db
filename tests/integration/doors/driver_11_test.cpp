// SPDX-License-Identifier: Apache-2.0
// A driver of CUDA 11: it has no cuGetProcAddress_v2.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#undef __CUDA_API_VERSION_INTERNAL

#include "tests/integration/doors/process.h"

namespace tidemark::doors {
namespace {

using Ask4 = decltype(&cuGetProcAddress);
using Ask5 = decltype(&cuGetProcAddress_v2);

class Driver11 : public testing::Test {
 protected:
  Fake driver_{"libcuda.so.1"};
};

TEST_F(Driver11, TheSecondFormIsNotThere) {
  EXPECT_EQ(dlsym(driver_.handle(), "cuGetProcAddress_v2"), nullptr);
  EXPECT_NE(dlerror(), nullptr);
  void* found = nullptr;  // a program that is linked to it all the same
  EXPECT_EQ(reinterpret_cast<Ask5>(exported("cuGetProcAddress_v2"))("cuMemAlloc", &found, 3020, 0, nullptr),
            CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(Driver11, TheFirstFormGivesHooks) {
  auto const ask = reinterpret_cast<Ask4>(dlsym(driver_.handle(), "cuGetProcAddress"));
  ASSERT_TRUE(is_hook(reinterpret_cast<void*>(ask)));
  void* found = nullptr;
  EXPECT_EQ(ask("cuMemAlloc", &found, 3020, 0), CUDA_SUCCESS);
  EXPECT_EQ(found, dlsym(driver_.handle(), "cuMemAlloc_v2"));
  EXPECT_TRUE(is_hook(found));
  EXPECT_EQ(ask("cuMemFreeAsync", &found, 11020, 2), CUDA_SUCCESS);
  EXPECT_EQ(found, dlsym(driver_.handle(), "cuMemFreeAsync_ptsz"));
  EXPECT_EQ(ask("cuNothing", &found, 11020, 0), CUDA_ERROR_NOT_FOUND);
}

TEST_F(Driver11, ItselfIsHandedOutInTheOnlyFormThereIs) {
  auto const ask = reinterpret_cast<Ask4>(dlsym(driver_.handle(), "cuGetProcAddress"));
  for (int const version : {11030, 11080, 12000, 13000}) {
    void* found = nullptr;
    EXPECT_EQ(ask("cuGetProcAddress", &found, version, 0), CUDA_SUCCESS);
    EXPECT_EQ(found, reinterpret_cast<void*>(ask)) << version;
  }
}

}  // namespace
}  // namespace tidemark::doors
