// SPDX-License-Identifier: Apache-2.0
// Copies of rows and boxes: pitches, offsets, and the limits of each.
#include <cstring>
#include <functional>

#include "tests/conformance/support/device.h"

namespace conformance {
namespace {

class ShapedCopy : public Conformance {};

struct Shape {
  std::size_t pitch, rows, slices;
  std::size_t bytes() const { return pitch * rows * slices; }
  std::size_t at(std::size_t x, std::size_t y, std::size_t z) const { return (z * rows + y) * pitch + x; }
};

struct Box {
  std::size_t x, y, z;
};

struct Boxes {
  Shape from, to;
  Box from_at, to_at, extent;
};

// What the target must hold: `before` with the box written over it.
std::vector<std::byte> expected(const Boxes& b, const std::vector<std::byte>& source, std::vector<std::byte> target) {
  for (std::size_t z = 0; z < b.extent.z; ++z)
    for (std::size_t y = 0; y < b.extent.y; ++y)
      std::memcpy(target.data() + b.to.at(b.to_at.x, b.to_at.y + y, b.to_at.z + z),
                  source.data() + b.from.at(b.from_at.x, b.from_at.y + y, b.from_at.z + z), b.extent.x);
  return target;
}

enum class Where { Host, Device };

// Memory of either kind, filled and read back.
class Bytes {
 public:
  Bytes(Where where, const std::vector<std::byte>& bytes) : where_(where), host_(bytes), device_(bytes.size()) {
    EXPECT_OK(cudaMemcpy(device_.get(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
    EXPECT_OK(cudaDeviceSynchronize());
  }
  std::byte* get() { return where_ == Where::Host ? host_.data() : device_.get(); }
  std::vector<std::byte> read() const { return where_ == Where::Host ? host_ : device_.read(); }

 private:
  Where where_;
  std::vector<std::byte> host_;
  DeviceBytes device_;
};

cudaMemcpyKind kind_of(Where from, Where to) {
  if (from == Where::Host) return to == Where::Host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
  return to == Where::Host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

using Issue = std::function<cudaError_t(std::byte* to, const std::byte* from, cudaMemcpyKind kind)>;

void check_all_directions(const Boxes& boxes, const Issue& issue) {
  for (Where const from : {Where::Host, Where::Device})
    for (Where const to : {Where::Host, Where::Device})
      for (bool const by_default : {false, true}) {
        auto const source = noise(boxes.from.bytes(), 1), target = noise(boxes.to.bytes(), 2);
        Bytes a(from, source), b(to, target);
        EXPECT_OK(issue(b.get(), a.get(), by_default ? cudaMemcpyDefault : kind_of(from, to)));
        EXPECT_OK(cudaDeviceSynchronize());
        EXPECT_EQ(expected(boxes, source, target), b.read()) << "kind " << kind_of(from, to);
      }
}

TEST_F(ShapedCopy, Rows) {
  Boxes const boxes{.from = {.pitch = 37, .rows = 11, .slices = 1},
                    .to = {.pitch = 53, .rows = 13, .slices = 1},
                    .from_at = {5, 2, 0},
                    .to_at = {3, 1, 0},
                    .extent = {29, 8, 1}};
  check_all_directions(boxes, [&](std::byte* to, const std::byte* from, cudaMemcpyKind kind) {
    return cudaMemcpy2D(to + boxes.to.at(3, 1, 0), 53, from + boxes.from.at(5, 2, 0), 37, 29, 8, kind);
  });
  Stream const stream;
  check_all_directions(boxes, [&](std::byte* to, const std::byte* from, cudaMemcpyKind kind) {
    return cudaMemcpy2DAsync(to + boxes.to.at(3, 1, 0), 53, from + boxes.from.at(5, 2, 0), 37, 29, 8, kind, stream);
  });
}

cudaMemcpy3DParms parameters(const Boxes& b, std::byte* to, const std::byte* from, cudaMemcpyKind kind) {
  cudaMemcpy3DParms p{};
  p.srcPtr = make_cudaPitchedPtr(const_cast<std::byte*>(from), b.from.pitch, b.from.pitch, b.from.rows);
  p.dstPtr = make_cudaPitchedPtr(to, b.to.pitch, b.to.pitch, b.to.rows);
  p.srcPos = make_cudaPos(b.from_at.x, b.from_at.y, b.from_at.z);
  p.dstPos = make_cudaPos(b.to_at.x, b.to_at.y, b.to_at.z);
  p.extent = make_cudaExtent(b.extent.x, b.extent.y, b.extent.z);
  p.kind = kind;
  return p;
}

TEST_F(ShapedCopy, BoxesWithOffsets) {
  Stream const stream;
  for (Boxes const& boxes : {Boxes{{37, 7, 5}, {41, 9, 6}, {3, 1, 1}, {2, 4, 2}, {30, 5, 3}},
                             Boxes{{64, 4, 4}, {64, 4, 4}, {0, 0, 0}, {0, 0, 0}, {64, 4, 4}},
                             Boxes{{64, 4, 4}, {32, 4, 4}, {17, 0, 3}, {1, 3, 0}, {31, 1, 1}}}) {
    check_all_directions(boxes, [&](std::byte* to, const std::byte* from, cudaMemcpyKind kind) {
      auto const p = parameters(boxes, to, from, kind);
      return cudaMemcpy3D(&p);
    });
    check_all_directions(boxes, [&](std::byte* to, const std::byte* from, cudaMemcpyKind kind) {
      auto const p = parameters(boxes, to, from, kind);
      return cudaMemcpy3DAsync(&p, stream);
    });
  }
}

TEST_F(ShapedCopy, DriverRowsWithOffsets) {
  Boxes const boxes{{40, 6, 1}, {48, 8, 1}, {4, 1, 0}, {8, 2, 0}, {32, 5, 1}};
  auto const source = noise(boxes.from.bytes(), 1), target = noise(boxes.to.bytes(), 2);
  Bytes a(Where::Host, source), b(Where::Device, target);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = a.get();
  copy.srcPitch = 40;
  copy.srcXInBytes = 4;
  copy.srcY = 1;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = reinterpret_cast<CUdeviceptr>(b.get());
  copy.dstPitch = 48;
  copy.dstXInBytes = 8;
  copy.dstY = 2;
  copy.WidthInBytes = 32;
  copy.Height = 5;
  EXPECT_OK(cuMemcpy2D(&copy));
  EXPECT_EQ(expected(boxes, source, target), b.read());
  // "If specified, srcPitch must be greater than or equal to WidthInBytes + srcXInBytes"
  copy.srcPitch = 35;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(&copy));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(nullptr));
}

TEST_F(ShapedCopy, RefusesShortPitches) {
  DeviceBytes const device(4096);
  std::vector<std::byte> host(4096);
  // "Calling cudaMemcpy2D() with ... spitch or dpitch less than width": cudaErrorInvalidPitchValue
  EXPECT_CUDA(cudaErrorInvalidPitchValue,
              cudaMemcpy2D(device.get(), 16, host.data(), 32, 32, 4, cudaMemcpyHostToDevice));
  EXPECT_CUDA(cudaErrorInvalidPitchValue,
              cudaMemcpy2D(device.get(), 32, host.data(), 16, 32, 4, cudaMemcpyHostToDevice));
}

TEST_F(ShapedCopy, RefusesBoxesThatLeaveTheBlock) {
  DeviceBytes const device(64 * 64);
  std::vector<std::byte> host(64 * 65);
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy2D(device.get(), 64, host.data(), 64, 64, 65, cudaMemcpyHostToDevice));
  EXPECT_CUDA(cudaErrorInvalidValue,
              cudaMemcpy2D(device.get(), 64, host.data(), 64, 64, std::size_t{1} << 60, cudaMemcpyHostToDevice));
  EXPECT_CUDA(cudaErrorInvalidValue,
              cudaMemcpy2D(device.get(), std::size_t{1} << 60, host.data(), 64, 64, 17, cudaMemcpyHostToDevice));
  // The last row may end before the pitch does.
  EXPECT_OK(cudaMemcpy2D(device.get() + 32, 64, host.data(), 64, 32, 64, cudaMemcpyHostToDevice));
}

TEST_F(ShapedCopy, RefusesBadParameters) {
  DeviceBytes const device(4096);
  std::vector<std::byte> host(4096);
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy3D(nullptr));
  Boxes const boxes{{32, 4, 4}, {32, 4, 4}, {0, 0, 0}, {0, 0, 0}, {32, 4, 4}};
  auto p = parameters(boxes, device.get(), host.data(), cudaMemcpyHostToDevice);
  p.srcPtr.ptr = nullptr;  // "It is an error ... if both or neither of srcArray and srcPtr are set"
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy3D(&p));
  p = parameters(boxes, device.get(), host.data(), static_cast<cudaMemcpyKind>(7));
  EXPECT_CUDA(cudaErrorInvalidMemcpyDirection, cudaMemcpy3D(&p));
  p = parameters(boxes, device.get(), host.data(), cudaMemcpyHostToDevice);
  p.extent.depth = 40;
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy3D(&p));
}

TEST_F(ShapedCopy, RefusesOffsetsThatWrapAround) {
  DeviceBytes const device(4096);
  std::vector<std::byte> host(4096);
  CUDA_MEMCPY3D p{};
  p.srcMemoryType = CU_MEMORYTYPE_HOST;
  p.srcHost = host.data();
  p.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  p.dstDevice = device.address() + 2048;
  p.WidthInBytes = 16;
  p.Height = p.Depth = 1;
  p.srcPitch = p.dstPitch = 64;
  p.srcHeight = p.dstHeight = 4;
  ASSERT_OK(cuMemcpy3D(&p));
  struct {
    const char* what;
    std::size_t CUDA_MEMCPY3D::*field;
    std::size_t value;
  } const wraps[] = {{"x", &CUDA_MEMCPY3D::dstXInBytes, ~std::size_t{0} - 1023},
                     {"y", &CUDA_MEMCPY3D::dstY, ~std::size_t{0} - 15},
                     {"z", &CUDA_MEMCPY3D::dstZ, ~std::size_t{0} - 3},
                     {"height", &CUDA_MEMCPY3D::Height, ~std::size_t{0}},
                     {"width", &CUDA_MEMCPY3D::WidthInBytes, ~std::size_t{0}}};
  for (auto const& w : wraps) {
    CUDA_MEMCPY3D bad = p;
    bad.*w.field = w.value;
    EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&bad)) << w.what;
  }
  // Slices that lie on top of each other because pitch times height has wrapped to nothing.
  p.srcPitch = p.dstPitch = std::size_t{1} << 32;
  p.srcHeight = p.dstHeight = std::size_t{1} << 32;
  p.Depth = 4;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&p));
}

TEST_F(ShapedCopy, EmptyBoxesCopyNothing) {
  DeviceBytes const device(64);
  auto const before = noise(64, 8);
  ASSERT_OK(cudaMemcpy(device.get(), before.data(), 64, cudaMemcpyHostToDevice));
  std::vector<std::byte> host(64);
  EXPECT_OK(cudaMemcpy2D(device.get(), 8, host.data(), 8, 0, 8, cudaMemcpyHostToDevice));
  EXPECT_OK(cudaMemcpy2D(device.get(), 8, host.data(), 8, 8, 0, cudaMemcpyHostToDevice));
  EXPECT_EQ(before, device.read());
}

}  // namespace
}  // namespace conformance
