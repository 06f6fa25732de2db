// SPDX-License-Identifier: Apache-2.0
#include "interpose/order/ranges.h"

#include <string_view>

#include "interpose/real/cuda.h"

namespace tidemark::interpose::order {
namespace {

// A box of rows and slices, as the driver's structures describe it.
struct Box {
  std::uint64_t base = 0;
  std::uint64_t x_bytes = 0, y = 0, z = 0;
  std::uint64_t pitch_bytes = 0, rows = 0;  // of the memory; rows between two slices
  std::uint64_t width_bytes = 0, height = 1, depth = 1;
};

// a * b + c, or no longer a number that memory could have.
bool add_product(std::uint64_t a, std::uint64_t b, std::uint64_t& sum) {
  std::uint64_t product = 0;
  return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(sum, product, &sum);
}

void add(Ranges& to, std::uint64_t address, std::uint64_t bytes) {
  if (address != 0 && bytes != 0) to.ranges[to.count++] = {address, bytes};
}

void add(Ranges& to, const Box& box) {
  if (box.width_bytes == 0 || box.height == 0 || box.depth == 0) return;
  std::uint64_t slice = 0, begin = box.base, bytes = box.width_bytes;
  if (!add_product(box.pitch_bytes, box.rows, slice) || !add_product(slice, box.z, begin) ||
      !add_product(box.pitch_bytes, box.y, begin) || !add_product(1, box.x_bytes, begin) ||
      !add_product(slice, box.depth - 1, bytes) || !add_product(box.pitch_bytes, box.height - 1, bytes))
    return;
  add(to, begin, bytes);
}

bool is_memory(CUmemorytype type) {
  return type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED;
}

void add_plane(Ranges& to, const CUDA_MEMCPY2D& p) {
  Box const shape{.width_bytes = p.WidthInBytes, .height = p.Height};
  auto const side = [&](CUmemorytype type, CUdeviceptr base, std::size_t x, std::size_t y, std::size_t pitch) {
    Box box = shape;
    box.base = base;
    box.x_bytes = x;
    box.y = y;
    box.pitch_bytes = pitch == 0 ? p.WidthInBytes : pitch;
    if (is_memory(type)) add(to, box);
  };
  side(p.srcMemoryType, p.srcDevice, p.srcXInBytes, p.srcY, p.srcPitch);
  side(p.dstMemoryType, p.dstDevice, p.dstXInBytes, p.dstY, p.dstPitch);
}

// CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER have the same names.
template <class Structure>
void add_volume(Ranges& to, const Structure& p) {
  Box const shape{.width_bytes = p.WidthInBytes, .height = p.Height, .depth = p.Depth};
  Box source = shape, target = shape;
  source.base = p.srcDevice;
  source.x_bytes = p.srcXInBytes;
  source.y = p.srcY;
  source.z = p.srcZ;
  source.pitch_bytes = p.srcPitch == 0 ? p.WidthInBytes : p.srcPitch;
  source.rows = p.srcHeight == 0 ? p.Height : p.srcHeight;
  target.base = p.dstDevice;
  target.x_bytes = p.dstXInBytes;
  target.y = p.dstY;
  target.z = p.dstZ;
  target.pitch_bytes = p.dstPitch == 0 ? p.WidthInBytes : p.dstPitch;
  target.rows = p.dstHeight == 0 ? p.Height : p.dstHeight;
  if (is_memory(p.srcMemoryType)) add(to, source);
  if (is_memory(p.dstMemoryType)) add(to, target);
}

template <class Structure>
const Structure* structure(const Arguments& arguments) {
  return reinterpret_cast<const Structure*>(arguments.word(0));
}

// "8", "16" or "32" behind cuMemsetD or cuMemsetD2D.
std::uint64_t unit_bytes(std::string_view digits) {
  return digits.starts_with("8") ? 1 : digits.starts_with("16") ? 2 : 4;
}

void add_fill(Ranges& to, std::string_view name, const Arguments& a) {
  name.remove_prefix(std::string_view("cuMemsetD").size());
  std::uint64_t bytes = 0;
  if (!name.starts_with("2D")) {
    if (add_product(a.word(2), unit_bytes(name), bytes)) add(to, a.word(0), bytes);
    return;
  }
  name.remove_prefix(2);
  if (!add_product(a.word(3), unit_bytes(name), bytes)) return;
  add(to, Box{.base = a.word(0), .pitch_bytes = a.word(1), .width_bytes = bytes, .height = a.word(4)});
}

}  // namespace

Ranges ranges_of(const Entry& entry, const Arguments& a) {
  Ranges out;
  std::string_view name = entry.name;
  if (entry.work == Work::Fill) {
    add_fill(out, name, a);
    return out;
  }
  if (!name.starts_with("cuMemcpy")) return out;
  name.remove_prefix(std::string_view("cuMemcpy").size());
  auto const is = [&](std::string_view beginning) { return name.starts_with(beginning); };
  if (is("2D")) {
    // The oldest ABI has structures of its own.
    if (auto const* const p = structure<CUDA_MEMCPY2D>(a); p != nullptr && name.find("_v2") != name.npos)
      add_plane(out, *p);
  } else if (is("3DPeer")) {
    if (auto const* const p = structure<CUDA_MEMCPY3D_PEER>(a); p != nullptr) add_volume(out, *p);
  } else if (is("3D_v2") || is("3DAsync_v2")) {
    if (auto const* const p = structure<CUDA_MEMCPY3D>(a); p != nullptr) add_volume(out, *p);
  } else if (is("Peer")) {
    add(out, a.word(0), a.word(4));
    add(out, a.word(2), a.word(4));
  } else if (is("DtoA")) {
    add(out, a.word(2), a.word(3));
  } else if (is("AtoD")) {
    add(out, a.word(0), a.word(3));
  } else if (is("HtoD") || is("DtoH") || is("DtoD") || is("Async") || name.empty() || is("_pt")) {
    add(out, a.word(0), a.word(2));
    add(out, a.word(1), a.word(2));
  }
  return out;
}

Batch batch_of(const Entry& entry, const Arguments& a) {
  if (!std::string_view(entry.name).starts_with("cuMemcpyBatchAsync")) return {};
  auto const list = [&](int slot) { return reinterpret_cast<const std::uint64_t*>(a.word(slot)); };
  Batch const batch{.to = list(0), .from = list(1), .sizes = list(2), .count = a.word(3)};
  return batch.to == nullptr || batch.from == nullptr || batch.sizes == nullptr ? Batch{} : batch;
}

}  // namespace tidemark::interpose::order
