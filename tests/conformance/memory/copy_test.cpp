// SPDX-License-Identifier: Apache-2.0
// Copies of one row: every direction, every kind, the plain and the asynchronous form, and what each may not do.
#include <cstring>

#include "tests/conformance/support/device.h"
#include "tests/conformance/support/kernels.h"

namespace conformance {
namespace {

class Copy : public Conformance {};

constexpr std::size_t kBytes = 100 * kKiB + 3;  // not a multiple of anything

// Where a copy can start or end.
struct Places {
  DeviceBytes device{kBytes};
  PinnedBytes pinned{kBytes};
  std::vector<std::byte> pageable = std::vector<std::byte>(kBytes);
  void* managed = nullptr;
  Places() { EXPECT_OK(cudaMallocManaged(&managed, kBytes, cudaMemAttachGlobal)); }
  ~Places() { EXPECT_OK(cudaFree(managed)); }
  std::vector<void*> all() { return {device.get(), pinned.get(), pageable.data(), managed}; }
};

std::vector<std::byte> read(const void* p) {
  std::vector<std::byte> out(kBytes);
  EXPECT_OK(cudaMemcpy(out.data(), p, kBytes, cudaMemcpyDefault));
  return out;
}

void write(void* p, const std::vector<std::byte>& bytes) {
  EXPECT_OK(cudaMemcpy(p, bytes.data(), bytes.size(), cudaMemcpyDefault));
}

TEST_F(Copy, EveryPairOfPlacesByDefaultKind) {
  Places from, to;
  std::uint32_t seed = 1;
  for (void* const source : from.all())
    for (void* const target : to.all()) {
      auto const bytes = noise(kBytes, seed++);
      write(source, bytes);
      write(target, noise(kBytes, 999));
      EXPECT_OK(cudaMemcpy(target, source, kBytes, cudaMemcpyDefault));
      EXPECT_EQ(bytes, read(target)) << "pair " << seed;
    }
}

TEST_F(Copy, EveryPairOfPlacesOnAStream) {
  Stream const stream(cudaStreamNonBlocking);
  Places from, to;
  std::uint32_t seed = 1;
  for (void* const source : from.all())
    for (void* const target : to.all()) {
      auto const bytes = noise(kBytes, seed++);
      write(source, bytes);
      write(target, noise(kBytes, 999));
      EXPECT_OK(cudaDeviceSynchronize());
      EXPECT_OK(cudaMemcpyAsync(target, source, kBytes, cudaMemcpyDefault, stream));
      EXPECT_OK(cudaStreamSynchronize(stream));
      EXPECT_EQ(bytes, read(target)) << "pair " << seed;
    }
}

TEST_F(Copy, NamedKinds) {
  auto const bytes = noise(kBytes, 5);
  std::vector<std::byte> host(kBytes), back(kBytes);
  DeviceBytes const a(kBytes), b(kBytes);
  EXPECT_OK(cudaMemcpy(host.data(), bytes.data(), kBytes, cudaMemcpyHostToHost));
  EXPECT_OK(cudaMemcpy(a.get(), host.data(), kBytes, cudaMemcpyHostToDevice));
  EXPECT_OK(cudaMemcpy(b.get(), a.get(), kBytes, cudaMemcpyDeviceToDevice));
  EXPECT_OK(cudaMemcpy(back.data(), b.get(), kBytes, cudaMemcpyDeviceToHost));
  EXPECT_EQ(bytes, back);
}

TEST_F(Copy, DriverForms) {
  auto const bytes = noise(kBytes, 6);
  std::vector<std::byte> back(kBytes);
  DeviceBytes const a(kBytes), b(kBytes), c(kBytes);
  EXPECT_OK(cuMemcpyHtoD(a.address(), bytes.data(), kBytes));
  EXPECT_OK(cuMemcpyDtoD(b.address(), a.address(), kBytes));
  EXPECT_OK(cuMemcpy(c.address(), b.address(), kBytes));
  EXPECT_OK(cuMemcpyDtoH(back.data(), c.address(), kBytes));
  EXPECT_EQ(bytes, back);
}

TEST_F(Copy, ABatchOfCopiesIsDoneInStreamOrder) {
  auto const bytes = noise(kBytes, 8);
  DeviceBytes const a(kBytes), b(kBytes);
  PinnedBytes const pinned(kBytes);
  std::memcpy(pinned.get(), bytes.data(), kBytes);
  Stream const stream;
  constexpr std::size_t kHalf = kBytes / 2;
  void* to[] = {a.get(), a.get() + kHalf};
  const void* from[] = {pinned.get(), pinned.get() + kHalf};
  std::size_t sizes[] = {kHalf, kBytes - kHalf}, first[] = {0};
  cudaMemcpyAttributes in_order{};
  in_order.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  ASSERT_OK(cudaMemcpyBatchAsync(to, from, sizes, 2, &in_order, first, 1, stream));
  cudaMemcpy3DBatchOp op{};
  op.src.type = op.dst.type = cudaMemcpyOperandTypePointer;
  op.src.op.ptr.ptr = a.get();
  op.dst.op.ptr.ptr = b.get();
  op.extent = {kBytes, 1, 1};
  op.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  ASSERT_OK(cudaMemcpy3DBatchAsync(1, &op, 0, stream));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(bytes, b.read());
  // "Must not be legacy NULL stream"; "each memcpy operation in the batch must have a valid" attribute.
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpyBatchAsync(to, from, sizes, 2, &in_order, first, 1, nullptr));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpyBatchAsync(to, from, sizes, 2, &in_order, first, 0, stream));
  cudaMemcpyAttributes without_order{};
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpyBatchAsync(to, from, sizes, 2, &without_order, first, 1, stream));
}

TEST_F(Copy, PartsWithOffsets) {
  auto const bytes = noise(kBytes, 7);
  DeviceBytes const device(kBytes);
  EXPECT_OK(cudaMemset(device.get(), 0, kBytes));
  EXPECT_OK(cudaMemcpy(device.get() + 13, bytes.data() + 7, 1000, cudaMemcpyHostToDevice));
  auto const back = device.read();
  EXPECT_EQ(std::byte{0}, back[12]);
  EXPECT_EQ(0, std::memcmp(back.data() + 13, bytes.data() + 7, 1000));
  EXPECT_EQ(std::byte{0}, back[1013]);
}

TEST_F(Copy, NothingIsCopiedForZeroBytes) {
  DeviceBytes const device(64);
  EXPECT_OK(cudaMemcpy(device.get(), nullptr, 0, cudaMemcpyHostToDevice));
  EXPECT_OK(cudaMemcpyAsync(device.get(), nullptr, 0, cudaMemcpyHostToDevice, nullptr));
}

TEST_F(Copy, RefusesBadArguments) {
  DeviceBytes const device(4 * kMiB);
  std::vector<std::byte> host(8 * kMiB);
  auto const kind = static_cast<cudaMemcpyKind>(7);
  EXPECT_CUDA(cudaErrorInvalidMemcpyDirection, cudaMemcpy(device.get(), host.data(), 16, kind));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(nullptr, host.data(), 16, cudaMemcpyHostToDevice));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(device.get(), nullptr, 16, cudaMemcpyHostToDevice));
  // Beyond the block's end.
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(device.get(), host.data(), 8 * kMiB, cudaMemcpyHostToDevice));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(device.get() + 1, host.data(), 4 * kMiB, cudaMemcpyHostToDevice));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(host.data(), device.get() + 1, 4 * kMiB, cudaMemcpyDeviceToHost));
  // So large that end addresses wrap around.
  for (std::size_t const huge : {~std::size_t{0}, ~std::size_t{0} - 64, std::size_t{1} << 63}) {
    EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(device.get() + 64, host.data(), huge, cudaMemcpyHostToDevice));
    EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoD(device.address() + 64, device.address(), huge));
  }
  // Larger than all memory there can be, on both sides the host's.
  if (is_softgpu()) {
    EXPECT_CUDA(cudaErrorInvalidValue,
                cudaMemcpy(host.data(), host.data() + 64, std::size_t{1} << 48, cudaMemcpyDefault));
  }
}

TEST_F(Copy, ForeignMemoryIsNotTheDevices) {
  int reaches = 0;
  ASSERT_OK(cudaDeviceGetAttribute(&reaches, cudaDevAttrPageableMemoryAccess, 0));
  if (reaches != 0) GTEST_SKIP() << "this device reaches all memory of the host";
  DeviceBytes const device(64);
  std::vector<std::byte> host(64), foreign(64);
  Stream const stream;
  auto const address = reinterpret_cast<CUdeviceptr>(foreign.data());
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(foreign.data(), host.data(), 64, cudaMemcpyHostToDevice));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(host.data(), foreign.data(), 64, cudaMemcpyDeviceToHost));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(foreign.data(), device.get(), 64, cudaMemcpyDeviceToDevice));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(device.get(), foreign.data(), 64, cudaMemcpyDeviceToDevice));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpyAsync(foreign.data(), host.data(), 64, cudaMemcpyHostToDevice, stream));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpyAsync(host.data(), foreign.data(), 64, cudaMemcpyDeviceToHost, stream));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy2D(foreign.data(), 8, host.data(), 8, 8, 8, cudaMemcpyHostToDevice));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpyPeer(foreign.data(), 0, device.get(), 0, 64));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(address, host.data(), 64));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(host.data(), address, 64));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoD(address, device.address(), 64));
  EXPECT_OK(cudaMemcpy(foreign.data(), host.data(), 64, cudaMemcpyHostToHost));
  EXPECT_OK(cudaMemcpy(foreign.data(), device.get(), 64, cudaMemcpyDefault));
}

TEST_F(Copy, RefusesFreedMemory) {
  std::vector<std::byte> host(64);
  void* p = nullptr;
  ASSERT_OK(cudaMalloc(&p, 3 * kMiB));
  ASSERT_OK(cudaFree(p));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(p, host.data(), 64, cudaMemcpyHostToDevice));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(host.data(), p, 64, cudaMemcpyDeviceToHost));
}

TEST_F(Copy, RefusesAFreedStream) {
  DeviceBytes const device(64);
  std::vector<std::byte> host(64);
  cudaStream_t stream = nullptr;
  ASSERT_OK(cudaStreamCreate(&stream));
  ASSERT_OK(cudaStreamDestroy(stream));
  if (is_softgpu()) {  // on a GPU a stale handle is undefined behaviour
    EXPECT_CUDA(cudaErrorInvalidResourceHandle,
                cudaMemcpyAsync(device.get(), host.data(), 64, cudaMemcpyHostToDevice, stream));
  }
}

TEST_F(Copy, PageableSourceMayChangeAfterTheCall) {
  // "For transfers from pageable host memory to device memory, ... the function will return once the pageable buffer
  // has been copied to the staging memory"
  Stream const stream(cudaStreamNonBlocking);
  DeviceBytes const device(kBytes);
  auto const bytes = noise(kBytes, 9);
  auto source = bytes;
  ASSERT_OK(cudaMemcpyAsync(device.get(), source.data(), kBytes, cudaMemcpyHostToDevice, stream));
  std::fill(source.begin(), source.end(), std::byte{0});
  ASSERT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(bytes, device.read());
  auto again = bytes;
  ASSERT_OK(cudaMemset(device.get(), 0, kBytes));
  ASSERT_OK(cudaMemcpy(device.get(), again.data(), kBytes, cudaMemcpyHostToDevice));
  std::fill(again.begin(), again.end(), std::byte{0});
  EXPECT_EQ(bytes, device.read());
}

TEST_F(Copy, ToPageableMemoryIsCompleteAtReturn) {
  // "For transfers from device memory to pageable host memory, the function will return only once the copy has
  // completed."
  NEEDS_VALUES();
  constexpr std::size_t kWords = 3000;
  Stream const stream(cudaStreamNonBlocking);
  DeviceBytes const device(kWords * 4);
  std::vector<std::uint32_t> host(kWords);
  ASSERT_OK(launch_fill(device.words(), kWords, 11, stream));
  ASSERT_OK(cudaMemcpyAsync(host.data(), device.get(), kWords * 4, cudaMemcpyDeviceToHost, stream));
  EXPECT_EQ(0u, wrong_words(host, 11));
}

TEST_F(Copy, ManagedMemoryIsWrittenAtReturn) {
  // The kind says that the destination is the host's, and the host may read it at once.
  void* managed = nullptr;
  ASSERT_OK(cudaMallocManaged(&managed, kBytes, cudaMemAttachGlobal));
  DeviceBytes const device(kBytes);
  for (cudaMemcpyKind const kind : {cudaMemcpyDeviceToHost, cudaMemcpyDefault}) {
    auto const bytes = noise(kBytes, static_cast<std::uint32_t>(kind));
    std::memset(managed, 0, kBytes);
    ASSERT_OK(cudaMemcpy(device.get(), bytes.data(), kBytes, cudaMemcpyHostToDevice));
    ASSERT_OK(cudaMemcpy(managed, device.get(), kBytes, kind));
    EXPECT_EQ(0, std::memcmp(managed, bytes.data(), kBytes)) << kind;
  }
  EXPECT_OK(cudaFree(managed));
}

TEST_F(Copy, SynchronousCopyFromTheDeviceWaitsForBlockingStreams) {
  NEEDS_VALUES();
  constexpr std::size_t kWords = 3000;
  Stream const stream;  // blocking: ordered with the legacy stream, which the copy uses
  DeviceBytes const device(kWords * 4);
  PinnedBytes const pinned(kWords * 4);
  ASSERT_OK(launch_fill(device.words(), kWords, 12, stream));
  ASSERT_OK(cudaMemcpy(pinned.get(), device.get(), kWords * 4, cudaMemcpyDeviceToHost));
  EXPECT_EQ(0u, wrong_words({pinned.words(), pinned.words() + kWords}, 12));
}

TEST_F(Copy, OverlapInsideABlockOfTheHostIsNotNeeded) {
  DeviceBytes const device(3000);
  auto const bytes = noise(1000, 3);
  ASSERT_OK(cudaMemcpy(device.get(), bytes.data(), 1000, cudaMemcpyHostToDevice));
  ASSERT_OK(cudaMemcpy(device.get() + 1000, device.get(), 1000, cudaMemcpyDeviceToDevice));
  ASSERT_OK(cudaMemcpy(device.get() + 2000, device.get() + 1000, 1000, cudaMemcpyDeviceToDevice));
  auto const back = device.read();
  EXPECT_EQ(0, std::memcmp(back.data() + 2000, bytes.data(), 1000));
}

TEST_F(Copy, LargeCopiesKeepEveryByte) {
  NEEDS_VALUES();  // a dry run does not store large copies
  auto const bytes = noise(9 * kMiB + 11, 21);
  DeviceBytes const a(bytes.size()), b(bytes.size());
  ASSERT_OK(cudaMemcpy(a.get(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
  ASSERT_OK(cudaMemcpy(b.get(), a.get(), bytes.size(), cudaMemcpyDeviceToDevice));
  EXPECT_EQ(bytes, b.read());
}

class PeerCopy : public Conformance {};

TEST_F(PeerCopy, BetweenTwoDevices) {
  NEEDS_DEVICES(2);
  auto const bytes = noise(kBytes, 31);
  DeviceBytes const first(kBytes);
  ASSERT_OK(cudaMemcpy(first.get(), bytes.data(), kBytes, cudaMemcpyHostToDevice));
  ASSERT_OK(cudaSetDevice(1));
  DeviceBytes const second(kBytes);
  EXPECT_OK(cudaMemcpyPeer(second.get(), 1, first.get(), 0, kBytes));
  EXPECT_EQ(bytes, second.read());
  Stream const stream;
  DeviceBytes const third(kBytes);
  EXPECT_OK(cudaMemcpyPeerAsync(third.get(), 1, second.get(), 1, kBytes, stream));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(bytes, third.read());
  EXPECT_OK(cudaMemcpy(third.get(), first.get(), kBytes, cudaMemcpyDefault));
  EXPECT_EQ(bytes, third.read());
  EXPECT_CUDA(cudaErrorInvalidDevice, cudaMemcpyPeer(second.get(), device_count(), first.get(), 0, kBytes));
  EXPECT_CUDA(cudaErrorInvalidDevice, cudaMemcpyPeer(second.get(), 1, first.get(), -1, kBytes));
}

TEST_F(PeerCopy, BoxesBetweenTwoDevices) {
  NEEDS_DEVICES(2);
  auto const bytes = noise(64 * 8, 32);
  DeviceBytes const first(64 * 8);
  ASSERT_OK(cudaMemcpy(first.get(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
  ASSERT_OK(cudaSetDevice(1));
  DeviceBytes const second(32 * 8);
  cudaMemcpy3DPeerParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(first.get(), 64, 64, 8);
  copy.srcDevice = 0;
  copy.srcPos = make_cudaPos(16, 0, 0);
  copy.dstPtr = make_cudaPitchedPtr(second.get(), 32, 32, 8);
  copy.dstDevice = 1;
  copy.extent = make_cudaExtent(32, 8, 1);
  ASSERT_OK(cudaMemcpy3DPeer(&copy));
  auto const back = second.read();
  for (std::size_t y = 0; y < 8; ++y)
    EXPECT_EQ(0, std::memcmp(back.data() + y * 32, bytes.data() + y * 64 + 16, 32)) << y;
}

TEST_F(PeerCopy, AccessIsEnabledOnce) {
  NEEDS_DEVICES(2);
  int can = 0;
  ASSERT_OK(cudaDeviceCanAccessPeer(&can, 0, 1));
  if (can == 0) GTEST_SKIP() << "these devices are no peers";
  EXPECT_OK(cudaDeviceEnablePeerAccess(1, 0));
  EXPECT_CUDA(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(1, 0));
  EXPECT_OK(cudaDeviceDisablePeerAccess(1));
  EXPECT_CUDA(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(1));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaDeviceEnablePeerAccess(1, 5));
  EXPECT_CUDA(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(device_count(), 0));
  EXPECT_OK(cudaDeviceCanAccessPeer(&can, 0, 0));
  EXPECT_EQ(0, can);
}

}  // namespace
}  // namespace conformance
