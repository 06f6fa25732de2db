// SPDX-License-Identifier: Apache-2.0
// Stream-ordered allocation and its pools.
#include <algorithm>
#include <optional>
#include <utility>

#include "tests/conformance/support/device.h"
#include "tests/conformance/support/gate.h"
#include "tests/conformance/support/kernels.h"

namespace conformance {
namespace {

std::uint64_t number(cudaMemPool_t pool, cudaMemPoolAttr attribute) {
  std::uint64_t value = 0;
  EXPECT_OK(cudaMemPoolGetAttribute(pool, attribute, &value));
  return value;
}

int flag(cudaMemPool_t pool, cudaMemPoolAttr attribute) {
  int value = -1;
  EXPECT_OK(cudaMemPoolGetAttribute(pool, attribute, &value));
  return value;
}

void set(cudaMemPool_t pool, cudaMemPoolAttr attribute, std::uint64_t value) {
  EXPECT_OK(cudaMemPoolSetAttribute(pool, attribute, &value));
}

void set_flag(cudaMemPool_t pool, cudaMemPoolAttr attribute, int value) {
  EXPECT_OK(cudaMemPoolSetAttribute(pool, attribute, &value));
}

class OwnPool {
 public:
  OwnPool() {
    cudaMemPoolProps props{};
    props.allocType = cudaMemAllocationTypePinned;
    props.location = {cudaMemLocationTypeDevice, 0};
    EXPECT_OK(cudaMemPoolCreate(&pool_, &props));
  }
  ~OwnPool() {
    if (pool_ != nullptr) {
      EXPECT_OK(cudaMemPoolDestroy(pool_));
    }
  }
  OwnPool(const OwnPool&) = delete;
  OwnPool& operator=(const OwnPool&) = delete;
  operator cudaMemPool_t() const { return pool_; }
  cudaMemPool_t release() { return std::exchange(pool_, nullptr); }

 private:
  cudaMemPool_t pool_ = nullptr;
};

class Pool : public Conformance {
 protected:
  static void* allocate(cudaMemPool_t pool, std::size_t bytes, cudaStream_t stream) {
    void* p = nullptr;
    EXPECT_OK(cudaMallocFromPoolAsync(&p, bytes, pool, stream));
    return p;
  }
};

TEST_F(Pool, AllocatesInStreamOrder) {
  NEEDS_VALUES();
  constexpr std::size_t kWords = 10000;
  Stream const stream(cudaStreamNonBlocking);
  PinnedBytes const out(kWords * 4);
  std::uint32_t* words = nullptr;
  for (std::uint32_t seed = 0; seed < 5; ++seed) {
    ASSERT_OK(cudaMallocAsync(&words, kWords * 4, stream));
    ASSERT_OK(launch_fill(words, kWords, seed, stream));
    ASSERT_OK(cudaMemcpyAsync(out.get(), words, kWords * 4, cudaMemcpyDeviceToHost, stream));
    ASSERT_OK(cudaFreeAsync(words, stream));
  }
  ASSERT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(0u, wrong_words({out.words(), out.words() + kWords}, 4));
}

TEST_F(Pool, DefaultsAreAsDocumented) {
  OwnPool const pool;
  EXPECT_EQ(1, flag(pool, cudaMemPoolReuseFollowEventDependencies));
  EXPECT_EQ(1, flag(pool, cudaMemPoolReuseAllowOpportunistic));
  EXPECT_EQ(1, flag(pool, cudaMemPoolReuseAllowInternalDependencies));
  EXPECT_EQ(0u, number(pool, cudaMemPoolAttrReleaseThreshold));
  EXPECT_EQ(0u, number(pool, cudaMemPoolAttrUsedMemCurrent));
  EXPECT_EQ(0u, number(pool, cudaMemPoolAttrUsedMemHigh));
}

TEST_F(Pool, CountsWhatIsUsedAndReserved) {
  OwnPool const pool;
  Stream const stream;
  void* const a = allocate(pool, 8 * kMiB, stream);
  void* const b = allocate(pool, 4 * kMiB, stream);
  EXPECT_GE(number(pool, cudaMemPoolAttrUsedMemCurrent), 12 * kMiB);
  EXPECT_GE(number(pool, cudaMemPoolAttrReservedMemCurrent), number(pool, cudaMemPoolAttrUsedMemCurrent));
  if (is_softgpu()) {
    EXPECT_EQ(12 * kMiB, number(pool, cudaMemPoolAttrUsedMemCurrent));
  }
  EXPECT_OK(cudaFreeAsync(a, stream));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_GE(number(pool, cudaMemPoolAttrUsedMemHigh), 12 * kMiB);
  EXPECT_LT(number(pool, cudaMemPoolAttrUsedMemCurrent), 12 * kMiB);
  EXPECT_OK(cudaFreeAsync(b, stream));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(0u, number(pool, cudaMemPoolAttrUsedMemCurrent));
  EXPECT_EQ(0u, number(pool, cudaMemPoolAttrReservedMemCurrent));  // a threshold of 0 keeps nothing
  set(pool, cudaMemPoolAttrUsedMemHigh, 0);
  set(pool, cudaMemPoolAttrReservedMemHigh, 0);
  EXPECT_EQ(0u, number(pool, cudaMemPoolAttrUsedMemHigh));
  EXPECT_EQ(0u, number(pool, cudaMemPoolAttrReservedMemHigh));
}

TEST_F(Pool, HighWaterMarksCanOnlyBeSetBack) {
  // "It is illegal to set this attribute to a non-zero value."
  OwnPool const pool;
  for (std::uint64_t value : {std::uint64_t{1}, std::uint64_t{1} << 32}) {
    EXPECT_CUDA(cudaErrorInvalidValue, cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &value));
  }
  std::uint64_t value = 5;
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &value));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &value));
}

TEST_F(Pool, MarksOfTheDefaultPoolAreSetBackOneByOne) {
  cudaMemPool_t pool = nullptr;
  Stream const stream;
  void* p = nullptr;
  ASSERT_OK(cudaDeviceGetDefaultMemPool(&pool, 0));
  ASSERT_OK(cudaMallocAsync(&p, 4 * kMiB, stream));
  ASSERT_OK(cudaFreeAsync(p, stream));
  ASSERT_OK(cudaStreamSynchronize(stream));
  EXPECT_GE(number(pool, cudaMemPoolAttrUsedMemHigh), 4 * kMiB);
  EXPECT_GE(number(pool, cudaMemPoolAttrReservedMemHigh), 4 * kMiB);
  set(pool, cudaMemPoolAttrReservedMemHigh, 0);
  EXPECT_EQ(number(pool, cudaMemPoolAttrReservedMemCurrent), number(pool, cudaMemPoolAttrReservedMemHigh));
  EXPECT_GE(number(pool, cudaMemPoolAttrUsedMemHigh), 4 * kMiB);
  set(pool, cudaMemPoolAttrUsedMemHigh, 0);
  EXPECT_EQ(0u, number(pool, cudaMemPoolAttrUsedMemHigh));
}

TEST_F(Pool, TheDefaultPoolKeepsUpToItsThreshold) {
  cudaMemPool_t pool = nullptr;
  Stream const stream;
  void* p = nullptr;
  ASSERT_OK(cudaDeviceGetDefaultMemPool(&pool, 0));
  set(pool, cudaMemPoolAttrReleaseThreshold, 64 * kMiB);
  ASSERT_OK(cudaMallocAsync(&p, 10 * kMiB, stream));
  ASSERT_OK(cudaFreeAsync(p, stream));
  ASSERT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(0u, number(pool, cudaMemPoolAttrUsedMemCurrent));
  EXPECT_GE(number(pool, cudaMemPoolAttrReservedMemCurrent), 10 * kMiB);
  EXPECT_LE(number(pool, cudaMemPoolAttrReservedMemCurrent), 64 * kMiB);
  EXPECT_OK(cudaMemPoolTrimTo(pool, 0));
  EXPECT_EQ(0u, number(pool, cudaMemPoolAttrReservedMemCurrent));
  set(pool, cudaMemPoolAttrReleaseThreshold, 0);
}

TEST_F(Pool, ReservedMemoryIsTheDevicesMemory) {
  NEEDS_SOFTGPU();
  OwnPool const pool;
  Stream const stream;
  std::size_t const before = memory_info().free_bytes;
  void* const p = allocate(pool, 5 * kMiB, stream);
  EXPECT_EQ(before - number(pool, cudaMemPoolAttrReservedMemCurrent), memory_info().free_bytes);
  EXPECT_OK(cudaFreeAsync(p, stream));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(before, memory_info().free_bytes);
}

TEST_F(Pool, ReleaseThresholdKeepsMemoryAcrossSynchronisation) {
  // "When more than the release threshold bytes of memory are held by the memory pool, the allocator will try to
  // release memory back to the OS on the next call to stream, event or context synchronize."
  OwnPool const pool;
  Stream const stream;
  set(pool, cudaMemPoolAttrReleaseThreshold, 64 * kMiB);
  EXPECT_EQ(64 * kMiB, number(pool, cudaMemPoolAttrReleaseThreshold));
  void* const p = allocate(pool, 16 * kMiB, stream);
  EXPECT_OK(cudaFreeAsync(p, stream));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_GE(number(pool, cudaMemPoolAttrReservedMemCurrent), 16 * kMiB);
  set(pool, cudaMemPoolAttrReleaseThreshold, 0);
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(0u, number(pool, cudaMemPoolAttrReservedMemCurrent));
}

TEST_F(Pool, TrimKeepsAtLeastWhatWasAsked) {
  OwnPool const pool;
  Stream const stream;
  set(pool, cudaMemPoolAttrReleaseThreshold, kGiB);
  void* const p = allocate(pool, 64 * kMiB, stream);
  EXPECT_OK(cudaFreeAsync(p, stream));
  EXPECT_OK(cudaStreamSynchronize(stream));
  std::uint64_t const full = number(pool, cudaMemPoolAttrReservedMemCurrent);
  EXPECT_OK(cudaMemPoolTrimTo(pool, full + kMiB));  // "If the pool has less than minBytesToKeep reserved ... a no-op"
  EXPECT_EQ(full, number(pool, cudaMemPoolAttrReservedMemCurrent));
  for (std::size_t const keep : {33 * kMiB, 3 * kMiB, std::size_t{1}}) {
    EXPECT_OK(cudaMemPoolTrimTo(pool, keep));
    // "Otherwise the pool will be guaranteed to have at least minBytesToKeep bytes reserved after the operation."
    EXPECT_GE(number(pool, cudaMemPoolAttrReservedMemCurrent), keep);
  }
  EXPECT_OK(cudaMemPoolTrimTo(pool, 0));
  EXPECT_EQ(0u, number(pool, cudaMemPoolAttrReservedMemCurrent));
}

TEST_F(Pool, TrimCannotTakeWhatIsInUse) {
  OwnPool const pool;
  Stream const stream;
  void* const p = allocate(pool, 16 * kMiB, stream);
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_OK(cudaMemPoolTrimTo(pool, 0));
  EXPECT_GE(number(pool, cudaMemPoolAttrReservedMemCurrent), 16 * kMiB);
  EXPECT_OK(cudaMemset(p, 1, 16 * kMiB));
  EXPECT_OK(cudaFreeAsync(p, stream));
  EXPECT_OK(cudaStreamSynchronize(stream));
}

TEST_F(Pool, TheSameStreamReusesAtOnce) {
  OwnPool const pool;
  Stream const stream(cudaStreamNonBlocking);
  Gate gate(stream);
  void* const a = allocate(pool, 4 * kMiB, stream);
  EXPECT_OK(cudaFreeAsync(a, stream));
  void* const b = allocate(pool, 4 * kMiB, stream);
  if (is_softgpu()) {
    EXPECT_EQ(a, b);
  }
  EXPECT_OK(cudaFreeAsync(b, stream));
}

TEST_F(Pool, AnotherStreamDoesNotReuseWhatIsStillInUse) {
  OwnPool const pool;
  Stream const one(cudaStreamNonBlocking), other(cudaStreamNonBlocking);
  set_flag(pool, cudaMemPoolReuseAllowInternalDependencies, 0);
  Gate gate(one);
  void* const a = allocate(pool, 4 * kMiB, one);
  EXPECT_OK(cudaFreeAsync(a, one));
  void* const b = allocate(pool, 4 * kMiB, other);
  EXPECT_NE(a, b);
  EXPECT_OK(cudaStreamSynchronize(other));
  EXPECT_OK(cudaFreeAsync(b, other));
}

TEST_F(Pool, AnotherStreamReusesAfterAnEvent) {
  NEEDS_SOFTGPU();  // "allow": a driver may, softgpu does
  OwnPool const pool;
  Stream const one(cudaStreamNonBlocking), other(cudaStreamNonBlocking);
  Event const freed(cudaEventDisableTiming);
  for (int const follow : {0, 1}) {
    set_flag(pool, cudaMemPoolReuseFollowEventDependencies, follow);
    set_flag(pool, cudaMemPoolReuseAllowInternalDependencies, 0);
    Gate gate(one);
    void* const a = allocate(pool, 4 * kMiB, one);
    EXPECT_OK(cudaFreeAsync(a, one));
    EXPECT_OK(cudaEventRecord(freed, one));
    EXPECT_OK(cudaStreamWaitEvent(other, freed, 0));
    void* const b = allocate(pool, 4 * kMiB, other);
    EXPECT_EQ(follow == 1, a == b);
    EXPECT_OK(cudaFreeAsync(b, other));
    gate.open();
    EXPECT_OK(cudaStreamSynchronize(other));
    EXPECT_OK(cudaStreamSynchronize(one));
  }
}

TEST_F(Pool, AnotherStreamReusesAFinishedFreeOpportunistically) {
  NEEDS_SOFTGPU();
  OwnPool const pool;
  Stream const one(cudaStreamNonBlocking), other(cudaStreamNonBlocking);
  set(pool, cudaMemPoolAttrReleaseThreshold, kGiB);
  set_flag(pool, cudaMemPoolReuseAllowInternalDependencies, 0);
  for (int const allowed : {0, 1}) {
    EXPECT_OK(cudaMemPoolTrimTo(pool, 0));
    set_flag(pool, cudaMemPoolReuseAllowOpportunistic, allowed);
    void* const a = allocate(pool, 4 * kMiB, one);
    EXPECT_OK(cudaFreeAsync(a, one));
    while (cudaStreamQuery(one) == cudaErrorNotReady) {
    }
    (void)cudaGetLastError();
    void* const b = allocate(pool, 4 * kMiB, other);
    EXPECT_EQ(allowed == 1, a == b);
    EXPECT_OK(cudaFreeAsync(b, other));
    EXPECT_OK(cudaDeviceSynchronize());
  }
}

TEST_F(Pool, ReuseByInternalDependencyKeepsTheValues) {
  // With almost no memory left, another stream's pending free may be used if the allocation waits for it.
  NEEDS_SOFTGPU();
  NEEDS_VALUES();
  OwnPool const pool;
  Stream const one(cudaStreamNonBlocking), other(cudaStreamNonBlocking);
  constexpr std::size_t kWords = kMiB;
  DeviceBytes const kept(kWords * 4);
  void* const a = allocate(pool, kWords * 4, one);
  void* hog = nullptr;
  ASSERT_OK(cudaMalloc(&hog, memory_info().free_bytes / (2 * kMiB) * (2 * kMiB)));
  std::optional<Gate> gate(one);
  ASSERT_OK(launch_fill(static_cast<std::uint32_t*>(a), kWords, 5, one));
  ASSERT_OK(launch_copy(kept.words(), static_cast<const std::uint32_t*>(a), kWords, one));
  ASSERT_OK(cudaFreeAsync(a, one));
  std::vector<void*> served;
  // Larger than any hole that the pool has beside it.
  void* b = nullptr;
  while (cudaMallocFromPoolAsync(&b, kWords * 4, pool, other) == cudaSuccess) {
    served.push_back(b);
    ASSERT_OK(cudaMemsetAsync(b, 0xff, kWords * 4, other));
  }
  EXPECT_EQ(cudaErrorMemoryAllocation, cudaGetLastError());
  EXPECT_EQ(1, std::count(served.begin(), served.end(), a));
  gate->open();
  ASSERT_OK(cudaStreamSynchronize(one));
  gate.reset();
  ASSERT_OK(cudaStreamSynchronize(other));
  EXPECT_EQ(0u, wrong_on_device(kept.words(), kWords, 5));
  for (void* const p : served) EXPECT_OK(cudaFreeAsync(p, other));
  EXPECT_OK(cudaStreamSynchronize(other));
  EXPECT_OK(cudaFree(hog));
}

TEST_F(Pool, PlainFreeTakesPoolMemory) {
  // cudaFree: memory "returned by ... cudaMallocAsync(), cudaMallocFromPoolAsync()"; accesses must have completed.
  Stream const stream;
  void* p = nullptr;
  ASSERT_OK(cudaMallocAsync(&p, 3 * kMiB, stream));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(static_cast<std::byte*>(p) + 512));
  EXPECT_OK(cudaFree(p));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(p));
  EXPECT_OK(cudaDeviceSynchronize());
}

TEST_F(Pool, PlainFreeOfPoolMemoryDoesNotSynchronise) {
  Stream const stream(cudaStreamNonBlocking);
  void* p = nullptr;
  ASSERT_OK(cudaMallocAsync(&p, 3 * kMiB, stream));
  EXPECT_OK(cudaStreamSynchronize(stream));
  Gate gate(stream);
  EXPECT_OK(cudaFree(p));  // would hang here
}

TEST_F(Pool, PlainMemoryIsFreedInStreamOrder) {
  NEEDS_VALUES();
  constexpr std::size_t kWords = 4096;
  Stream const stream(cudaStreamNonBlocking);
  DeviceBytes const kept(kWords * 4);
  void* p = nullptr;
  ASSERT_OK(cudaMalloc(&p, kWords * 4));
  ASSERT_OK(launch_fill(static_cast<std::uint32_t*>(p), kWords, 6, stream));
  ASSERT_OK(launch_copy(kept.words(), static_cast<std::uint32_t*>(p), kWords, stream));
  ASSERT_OK(cudaFreeAsync(p, stream));
  DeviceBytes const another(kWords * 4);
  ASSERT_OK(cudaMemset(another.get(), 0, kWords * 4));
  ASSERT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(0u, wrong_on_device(kept.words(), kWords, 6));
}

TEST_F(Pool, RefusesBadArguments) {
  OwnPool const pool;
  Stream const stream;
  void* p = nullptr;
  int on_stack = 0;
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMallocAsync(static_cast<void**>(nullptr), 16, stream));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFreeAsync(&on_stack, stream));
  EXPECT_CUDA(cudaErrorMemoryAllocation, cudaMallocAsync(&p, memory_info().total_bytes * 2, stream));
  EXPECT_CUDA(cudaErrorMemoryAllocation, cudaMallocAsync(&p, ~std::size_t{0} - 100, stream));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemPoolCreate(nullptr, nullptr));
  cudaMemPool_t none = nullptr;
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemPoolTrimTo(none, 0));
  void* const q = allocate(pool, kMiB, stream);
  EXPECT_OK(cudaFreeAsync(q, stream));
  if (is_softgpu()) {
    EXPECT_CUDA(cudaErrorInvalidValue, cudaFreeAsync(q, stream));
  }  // undefined on a GPU
  EXPECT_OK(cudaStreamSynchronize(stream));
}

TEST_F(Pool, TheDefaultPoolCannotBeDestroyed) {
  cudaMemPool_t pool = nullptr;
  ASSERT_OK(cudaDeviceGetDefaultMemPool(&pool, 0));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemPoolDestroy(pool));
  EXPECT_CUDA(cudaErrorInvalidDevice, cudaDeviceGetDefaultMemPool(&pool, device_count()));
}

TEST_F(Pool, TheCurrentPoolServesAndItsEndBringsTheDefaultBack) {
  cudaMemPool_t standard = nullptr, current = nullptr;
  ASSERT_OK(cudaDeviceGetDefaultMemPool(&standard, 0));
  {
    OwnPool const pool;
    ASSERT_OK(cudaDeviceSetMemPool(0, pool));
    ASSERT_OK(cudaDeviceGetMemPool(&current, 0));
    EXPECT_EQ(static_cast<cudaMemPool_t>(pool), current);
    void* p = nullptr;
    ASSERT_OK(cudaMallocAsync(&p, kMiB, nullptr));
    EXPECT_GE(number(pool, cudaMemPoolAttrUsedMemCurrent), kMiB);
    EXPECT_OK(cudaFreeAsync(p, nullptr));
    EXPECT_OK(cudaDeviceSynchronize());
  }
  // "Destroying the current mempool of a device sets the default mempool of that device as the current mempool"
  ASSERT_OK(cudaDeviceGetMemPool(&current, 0));
  EXPECT_EQ(standard, current);
}

TEST_F(Pool, DestroyedPoolsKeepWhatIsStillAllocated) {
  // "If any pointers obtained from this pool haven't been freed or the pool has free operations that haven't completed
  // ... the function will return immediately and the resources associated with the pool will be released automatically
  // once there are no more outstanding allocations."
  std::size_t const before = memory_info().free_bytes;
  Stream const stream(cudaStreamNonBlocking);
  OwnPool pool;
  void* const p = allocate(pool, 8 * kMiB, stream);
  {
    Gate gate(stream);
    void* const freed = allocate(pool, 8 * kMiB, stream);
    EXPECT_OK(cudaMemsetAsync(freed, 1, 8 * kMiB, stream));
    EXPECT_OK(cudaFreeAsync(freed, stream));
    EXPECT_OK(cudaMemPoolDestroy(pool.release()));
  }
  EXPECT_OK(cudaMemsetAsync(p, 2, 8 * kMiB, stream));
  EXPECT_OK(cudaFreeAsync(p, stream));
  EXPECT_OK(cudaStreamSynchronize(stream));
  if (is_softgpu()) {
    EXPECT_EQ(before, memory_info().free_bytes);
  }
}

TEST_F(Pool, PointersKnowTheirPool) {
  OwnPool const pool;
  Stream const stream;
  void* const p = allocate(pool, kMiB, stream);
  CUmemoryPool seen = nullptr;
  EXPECT_OK(cuPointerGetAttribute(&seen, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, reinterpret_cast<CUdeviceptr>(p)));
  EXPECT_EQ(static_cast<cudaMemPool_t>(pool), seen);
  cudaPointerAttributes attributes{};
  EXPECT_OK(cudaPointerGetAttributes(&attributes, p));
  EXPECT_EQ(cudaMemoryTypeDevice, attributes.type);
  EXPECT_OK(cudaFreeAsync(p, stream));
  EXPECT_OK(cudaStreamSynchronize(stream));
}

TEST_F(Pool, CopiesAndSetsOfFreedMemoryAreRefused) {
  NEEDS_SOFTGPU();  // on a card it is a mistake that may go unseen
  Stream const stream(cudaStreamNonBlocking);
  void* p = nullptr;
  std::vector<std::byte> host(100);
  ASSERT_OK(cudaMallocAsync(&p, kMiB, stream));
  ASSERT_OK(cudaFreeAsync(p, stream));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpyAsync(host.data(), p, 100, cudaMemcpyDeviceToHost, stream));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpyAsync(p, host.data(), 100, cudaMemcpyHostToDevice, stream));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemsetAsync(p, 0, 100, stream));
  ASSERT_OK(cudaStreamSynchronize(stream));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(host.data(), p, 100, cudaMemcpyDeviceToHost));
}

TEST_F(Pool, AccessFromItsOwnDeviceCannotBeTakenAway) {
  OwnPool const pool;
  cudaMemLocation own{cudaMemLocationTypeDevice, 0};
  cudaMemAccessFlags flags{};
  EXPECT_OK(cudaMemPoolGetAccess(&flags, pool, &own));
  EXPECT_EQ(cudaMemAccessFlagsProtReadWrite, flags);
  cudaMemAccessDesc none{own, cudaMemAccessFlagsProtNone};
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemPoolSetAccess(pool, &none, 1));
  if (device_count() < 2) return;
  cudaMemLocation peer{cudaMemLocationTypeDevice, 1};
  EXPECT_OK(cudaMemPoolGetAccess(&flags, pool, &peer));
  EXPECT_EQ(cudaMemAccessFlagsProtNone, flags);
  cudaMemAccessDesc both{peer, cudaMemAccessFlagsProtReadWrite};
  EXPECT_OK(cudaMemPoolSetAccess(pool, &both, 1));
  EXPECT_OK(cudaMemPoolGetAccess(&flags, pool, &peer));
  EXPECT_EQ(cudaMemAccessFlagsProtReadWrite, flags);
}

}  // namespace
}  // namespace conformance
