// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/random/sequence.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "tests/conformance/support/kernels.h"

namespace conformance {
namespace {

constexpr std::size_t kMostBlocks = 24, kMostStreams = 6;
constexpr std::size_t kGranule = 2 * kMiB, kLargestSmall = kMiB;

std::size_t round_up(std::size_t n, std::size_t to) {
  return (n + to - 1) / to * to;
}

void fill_words(std::byte* bytes, std::size_t words, std::uint32_t seed) {
  for (std::size_t i = 0; i < words; ++i) {
    std::uint32_t const word = expected_word(seed, i);
    std::memcpy(bytes + i * 4, &word, 4);
  }
}

void add_words(std::byte* bytes, std::size_t words, std::uint32_t value) {
  for (std::size_t i = 0; i < words; ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes + i * 4, 4);
    word += value;
    std::memcpy(bytes + i * 4, &word, 4);
  }
}

}  // namespace

Sequence::Sequence(std::uint64_t seed) : random_(seed) {
  EXPECT_OK(cudaSetDevice(0));
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT_OK(cudaDeviceGetDefaultMemPool(&default_pool_, 0));
  free_at_start_ = memory_info().free_bytes;
  cudaMemPoolProps props{};
  props.allocType = cudaMemAllocationTypePinned;
  props.location = {cudaMemLocationTypeDevice, 0};
  EXPECT_OK(cudaMemPoolCreate(&own_pool_, &props));
  std::uint64_t threshold = pick(2) * 64 * kMiB;
  EXPECT_OK(cudaMemPoolSetAttribute(own_pool_, cudaMemPoolAttrReleaseThreshold, &threshold));
  for (cudaMemPoolAttr const flag : {cudaMemPoolReuseFollowEventDependencies, cudaMemPoolReuseAllowOpportunistic,
                                     cudaMemPoolReuseAllowInternalDependencies}) {
    int on = static_cast<int>(pick(2));
    EXPECT_OK(cudaMemPoolSetAttribute(own_pool_, flag, &on));
  }
  streams_.push_back({});
  make_stream();
}

Sequence::~Sequence() {
  EXPECT_OK(cudaMemPoolDestroy(own_pool_));
  EXPECT_OK(cudaDeviceSynchronize());
  if (is_softgpu()) {
    EXPECT_EQ(free_at_start_, memory_info().free_bytes);
  }
}

void Sequence::run(int steps) {
  for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) step();
}

void Sequence::step() {
  struct Choice {
    unsigned weight;
    void (Sequence::*action)();
  };
  static constexpr Choice kChoices[] = {
      {14, &Sequence::allocate},    {10, static_cast<void (Sequence::*)()>(&Sequence::release)},
      {12, &Sequence::fill},        {10, &Sequence::add},
      {8, &Sequence::set},          {14, &Sequence::copy},
      {5, &Sequence::copy_rows},    {8, &Sequence::upload},
      {8, &Sequence::check_part},   {3, &Sequence::make_stream},
      {3, &Sequence::drop_stream},  {4, &Sequence::synchronise},
      {3, &Sequence::check_memory}, {8, &Sequence::call_wrongly}};
  unsigned total = 0;
  for (Choice const& c : kChoices) total += c.weight;
  std::uint64_t at = pick(total);
  for (Choice const& c : kChoices) {
    if (at < c.weight) return (this->*c.action)();
    at -= c.weight;
  }
}

ModelBlock* Sequence::any_block() {
  return blocks_.empty() ? nullptr : blocks_[pick(blocks_.size())].get();
}

Sequence::Part Sequence::any_part(const ModelBlock& block) {
  if (pick(3) == 0) return {0, block.bytes()};
  std::size_t const offset = pick(block.bytes());
  return {offset, 1 + pick(block.bytes() - offset)};
}

std::size_t Sequence::any_size() {
  switch (pick(8)) {
    case 0: return 1 + pick(16);
    case 1: return kMiB - 2 + pick(4);  // around the border between shared and own granules
    case 2: return kMiB + 1 + pick(2 * kMiB);
    case 3: return 512 * (1 + pick(8));
    default: return 1 + pick(40000);
  }
}

// Orders the stream behind the block's last use, unless it is so already.
void Sequence::use(ModelBlock& block, const ModelStream& stream) {
  ModelStream const& last = block.last_stream;
  bool const by_legacy = (last.id == 0 && stream.blocking) || (stream.id == 0 && last.blocking);
  bool const alive = last.id == 0 || std::any_of(streams_.begin(), streams_.end(),
                                                 [&](const ModelStream& s) { return s.id == last.id; });
  if (alive && (last.id == stream.id || by_legacy)) return;
  EXPECT_OK(cudaStreamWaitEvent(stream.handle, block.last_use, 0));
}

void Sequence::used(ModelBlock& block, const ModelStream& stream) {
  EXPECT_OK(cudaEventRecord(block.last_use, stream.handle));
  block.last_stream = stream;
}

void Sequence::allocate() {
  if (blocks_.size() >= kMostBlocks) return;
  auto block = std::make_unique<ModelBlock>();
  ModelStream const stream = any_stream();
  std::size_t const bytes = any_size();
  void* p = nullptr;
  switch (pick(6)) {
    case 0:
    case 1:
      EXPECT_OK(cudaMalloc(&p, bytes));
      block->kind = Kind::Device;
      block->may_be_served = true;
      break;
    case 2:
      EXPECT_OK(cudaMallocAsync(&p, bytes, stream.handle));
      block->kind = Kind::Pool;
      block->may_be_served = true;
      break;
    case 3:
      EXPECT_OK(cudaMallocFromPoolAsync(&p, bytes, own_pool_, stream.handle));
      block->kind = Kind::Pool;
      break;
    case 4:
      EXPECT_OK(cudaMallocHost(&p, bytes));
      block->kind = Kind::Pinned;
      break;
    default:
      EXPECT_OK(cudaMallocManaged(&p, bytes, cudaMemAttachGlobal));
      block->kind = Kind::Managed;
      break;
  }
  block->data = static_cast<std::byte*>(p);
  block->expected.resize(bytes);
  std::erase_if(freed_, [&](const std::byte* f) { return f >= block->data && f < block->data + bytes; });
  EXPECT_OK(cudaEventCreateWithFlags(&block->last_use, cudaEventDisableTiming));
  auto const value = static_cast<std::uint8_t>(pick(256));
  std::fill(block->expected.begin(), block->expected.end(), std::byte{value});
  EXPECT_OK(cudaMemsetAsync(p, value, bytes, stream.handle));
  used(*block, stream);
  blocks_.push_back(std::move(block));
}

void Sequence::remember_freed(const ModelBlock& block) {
  freed_.push_back(block.data);
  if (freed_.size() > 8) freed_.erase(freed_.begin());
}

void Sequence::release_device(ModelBlock& block) {
  ModelStream const stream = any_stream();
  bool const in_order = pick(2) == 0;
  if (in_order) {
    use(block, stream);
    EXPECT_OK(cudaFreeAsync(block.data, stream.handle));
    return;
  }
  // Pool memory: "Callers must ensure that all accesses to these pointer have completed before invoking cudaFree."
  if (block.kind == Kind::Pool) {
    EXPECT_OK(cudaEventSynchronize(block.last_use));
  }
  EXPECT_OK(cudaFree(block.data));
}

void Sequence::release(std::size_t index) {
  std::unique_ptr<ModelBlock> const block = std::move(blocks_[index]);
  blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(index));
  switch (block->kind) {
    case Kind::Device:
    case Kind::Pool: release_device(*block); break;
    case Kind::Pinned: EXPECT_OK(cudaFreeHost(block->data)); break;
    case Kind::Managed: EXPECT_OK(cudaFree(block->data)); break;
  }
  EXPECT_OK(cudaEventDestroy(block->last_use));
  if (block->kind == Kind::Device || block->kind == Kind::Pool) remember_freed(*block);
}

void Sequence::release() {
  if (!blocks_.empty()) release(pick(blocks_.size()));
}

void Sequence::fill() {
  ModelBlock* const block = any_block();
  if (block == nullptr || block->bytes() < 8) return;
  ModelStream const stream = any_stream();
  std::size_t const first = pick(block->bytes() / 4), words = 1 + pick(block->bytes() / 4 - first);
  auto const seed = static_cast<std::uint32_t>(pick(1u << 30));
  use(*block, stream);
  EXPECT_OK(launch_fill(reinterpret_cast<std::uint32_t*>(block->data) + first, words, seed, stream.handle));
  used(*block, stream);
  fill_words(block->expected.data() + first * 4, words, seed);
}

void Sequence::add() {
  ModelBlock* const block = any_block();
  if (block == nullptr || block->bytes() < 4) return;
  ModelStream const stream = any_stream();
  std::size_t const words = block->bytes() / 4;
  auto const value = static_cast<std::uint32_t>(pick(1000));
  use(*block, stream);
  EXPECT_OK(launch_add(reinterpret_cast<std::uint32_t*>(block->data), words, value, stream.handle));
  used(*block, stream);
  add_words(block->expected.data(), words, value);
}

void Sequence::set() {
  ModelBlock* const block = any_block();
  if (block == nullptr) return;
  bool const plain = pick(3) == 0;
  ModelStream const stream = plain ? streams_[0] : any_stream();
  Part const part = any_part(*block);
  auto const value = static_cast<int>(pick(256));
  use(*block, stream);
  if (plain) {
    EXPECT_OK(cudaMemset(block->data + part.offset, value, part.bytes));
  } else {
    EXPECT_OK(cudaMemsetAsync(block->data + part.offset, value, part.bytes, stream.handle));
  }
  used(*block, stream);
  std::fill_n(block->expected.begin() + static_cast<std::ptrdiff_t>(part.offset), part.bytes,
              static_cast<std::byte>(value));
}

void Sequence::copy() {
  ModelBlock *const to = any_block(), *const from = any_block();
  if (to == nullptr || to == from) return;
  bool const plain = pick(3) == 0;
  ModelStream const stream = plain ? streams_[0] : any_stream();
  Part const target = any_part(*to);
  std::size_t const offset = pick(from->bytes());
  std::size_t const bytes = std::min(target.bytes, from->bytes() - offset);
  use(*from, stream);
  use(*to, stream);
  if (plain) {
    EXPECT_OK(cudaMemcpy(to->data + target.offset, from->data + offset, bytes, cudaMemcpyDefault));
  } else {
    EXPECT_OK(cudaMemcpyAsync(to->data + target.offset, from->data + offset, bytes, cudaMemcpyDefault, stream.handle));
  }
  used(*from, stream);
  used(*to, stream);
  std::memcpy(to->expected.data() + target.offset, from->expected.data() + offset, bytes);
}

void Sequence::copy_rows() {
  ModelBlock *const to = any_block(), *const from = any_block();
  if (to == nullptr || to == from || std::min(to->bytes(), from->bytes()) < 64) return;
  std::size_t const rows = 1 + pick(8), width = 1 + pick(std::min(to->bytes(), from->bytes()) / rows / 2);
  std::size_t const to_pitch = width + pick((to->bytes() - rows * width) / rows + 1);
  std::size_t const from_pitch = width + pick((from->bytes() - rows * width) / rows + 1);
  ModelStream const stream = any_stream();
  use(*from, stream);
  use(*to, stream);
  EXPECT_OK(
      cudaMemcpy2DAsync(to->data, to_pitch, from->data, from_pitch, width, rows, cudaMemcpyDefault, stream.handle));
  used(*from, stream);
  used(*to, stream);
  for (std::size_t y = 0; y < rows; ++y)
    std::memcpy(to->expected.data() + y * to_pitch, from->expected.data() + y * from_pitch, width);
}

// From pageable memory that changes right after the call.
void Sequence::upload() {
  ModelBlock* const block = any_block();
  if (block == nullptr) return;
  bool const plain = pick(2) == 0;
  ModelStream const stream = plain ? streams_[0] : any_stream();
  Part const part = any_part(*block);
  auto bytes = noise(part.bytes, static_cast<std::uint32_t>(pick(1u << 30)));
  use(*block, stream);
  if (plain) {
    EXPECT_OK(cudaMemcpy(block->data + part.offset, bytes.data(), part.bytes, cudaMemcpyDefault));
  } else {
    EXPECT_OK(cudaMemcpyAsync(block->data + part.offset, bytes.data(), part.bytes, cudaMemcpyDefault, stream.handle));
  }
  used(*block, stream);
  std::memcpy(block->expected.data() + part.offset, bytes.data(), part.bytes);
  std::fill(bytes.begin(), bytes.end(), std::byte{0xee});
}

void Sequence::check_part() {
  ModelBlock* const block = any_block();
  if (block == nullptr) return;
  bool const plain = pick(2) == 0;
  ModelStream const stream = plain ? streams_[0] : any_stream();
  Part const part = any_part(*block);
  std::vector<std::byte> seen(part.bytes);
  use(*block, stream);
  if (plain) {
    EXPECT_OK(cudaMemcpy(seen.data(), block->data + part.offset, part.bytes, cudaMemcpyDefault));
  } else {
    EXPECT_OK(cudaMemcpyAsync(seen.data(), block->data + part.offset, part.bytes, cudaMemcpyDefault, stream.handle));
  }
  used(*block, stream);
  if (is_dry_run()) return;
  EXPECT_EQ(0, std::memcmp(seen.data(), block->expected.data() + part.offset, part.bytes))
      << part.bytes << " bytes at " << part.offset << " of a block of " << block->bytes() << ", kind "
      << static_cast<int>(block->kind);
}

void Sequence::make_stream() {
  if (streams_.size() >= kMostStreams) return;
  ModelStream stream{.blocking = pick(2) == 0, .id = next_stream_++};
  EXPECT_OK(cudaStreamCreateWithFlags(&stream.handle, stream.blocking ? cudaStreamDefault : cudaStreamNonBlocking));
  streams_.push_back(stream);
}

// Without waiting: its work goes on, and blocks know its end by their events.
void Sequence::drop_stream() {
  if (streams_.size() < 3) return;
  std::size_t const index = 1 + pick(streams_.size() - 1);
  EXPECT_OK(cudaStreamDestroy(streams_[index].handle));
  streams_.erase(streams_.begin() + static_cast<std::ptrdiff_t>(index));
}

void Sequence::synchronise() {
  ModelBlock* const block = any_block();
  switch (pick(4)) {
    case 0: EXPECT_OK(cudaDeviceSynchronize()); break;
    case 1: EXPECT_OK(cudaStreamSynchronize(any_stream().handle)); break;
    case 2:
      if (block != nullptr) {
        EXPECT_OK(cudaEventSynchronize(block->last_use));
      }
      break;
    default: {
      cudaError_t const status = cudaStreamQuery(any_stream().handle);
      EXPECT_TRUE(status == cudaSuccess || status == cudaErrorNotReady) << cudaGetErrorName(status);
      (void)cudaGetLastError();
    }
  }
}

std::size_t Sequence::small_bytes() const {
  std::size_t total = 0;
  for (auto const& block : blocks_)
    if (block->kind == Kind::Device && block->bytes() <= kLargestSmall) total += round_up(block->bytes(), 512);
  return total;
}

std::size_t Sequence::large_bytes() const {
  std::size_t total = 0;
  for (auto const& block : blocks_)
    if (block->kind == Kind::Device && block->bytes() > kLargestSmall) total += round_up(block->bytes(), kGranule);
  return total;
}

std::size_t Sequence::served_frames() const {
  std::set<std::uintptr_t> frames;
  for (auto const& block : blocks_) {
    if (!block->may_be_served) continue;
    auto const begin = reinterpret_cast<std::uintptr_t>(block->data);
    for (std::uintptr_t at = begin / kGranule; at <= (begin + block->bytes() - 1) / kGranule; ++at) frames.insert(at);
  }
  return frames.size();
}

std::uint64_t Sequence::reserved_by_pools() const {
  std::uint64_t total = 0;
  for (cudaMemPool_t const pool : {own_pool_, default_pool_}) {
    std::uint64_t reserved = 0;
    EXPECT_OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
    total += reserved;
  }
  return total;
}

void Sequence::check_memory() {
  EXPECT_OK(cudaDeviceSynchronize());
  if (!is_softgpu()) return;
  std::size_t const used = free_at_start_ - memory_info().free_bytes;
  if (is_served()) {
    // Blocks of every kind share frames of the granule's size; what no block is in counts as free. What a program can
    // take is exactly the rest.
    std::uint64_t own = 0;
    EXPECT_OK(cudaMemPoolGetAttribute(own_pool_, cudaMemPoolAttrReservedMemCurrent, &own));
    EXPECT_EQ(used, served_frames() * kGranule + own);
    return;
  }
  std::size_t const certain = large_bytes() + reserved_by_pools();
  ASSERT_GE(used, certain);
  // Small blocks share granules; how well they are packed is the allocator's affair.
  std::size_t const small = used - certain;
  std::size_t const count = static_cast<std::size_t>(std::count_if(blocks_.begin(), blocks_.end(), [](auto const& b) {
    return b->kind == Kind::Device && b->bytes() <= kLargestSmall;
  }));
  EXPECT_EQ(0u, small % kGranule);
  EXPECT_GE(small, round_up(small_bytes(), kGranule));
  EXPECT_LE(small, count * kGranule);
}

void Sequence::call_wrongly() {
  void* p = nullptr;
  int on_stack = 0;
  ModelBlock* const block = any_block();
  switch (pick(9)) {
    case 0: EXPECT_CUDA(cudaErrorMemoryAllocation, cudaMalloc(&p, std::size_t{1} << 45)); break;
    case 1: EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(&on_stack)); break;
    case 2: EXPECT_CUDA(cudaErrorInvalidValue, cudaMemset(&on_stack, 0, 4)); break;
    case 3:
      if (block != nullptr && block->bytes() > 600) {
        EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(block->data + 1 + pick(block->bytes() - 1)));
      }
      break;
    case 4:
      if (block != nullptr && block->kind != Kind::Pinned && block->kind != Kind::Managed) {
        EXPECT_CUDA(cudaErrorInvalidValue, cudaMemset(block->data, 0, block->bytes() + 4 * kMiB));
      }
      break;
    case 5:
      if (is_softgpu() && !freed_.empty()) {
        EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(freed_[pick(freed_.size())]));
      }
      break;
    case 6: EXPECT_CUDA(cudaErrorInvalidValue, cudaFreeAsync(&on_stack, any_stream().handle)); break;
    case 7:
      EXPECT_CUDA(cudaErrorInvalidMemcpyDirection, cudaMemcpy(&on_stack, &on_stack, 4, static_cast<cudaMemcpyKind>(7)));
      break;
    default: EXPECT_CUDA(cudaErrorMemoryAllocation, cudaMallocAsync(&p, std::size_t{1} << 45, any_stream().handle));
  }
}

void Sequence::check(const ModelBlock& block) {
  std::vector<std::byte> seen(block.bytes());
  EXPECT_OK(cudaMemcpy(seen.data(), block.data, block.bytes(), cudaMemcpyDefault));
  if (is_dry_run()) return;
  EXPECT_EQ(0, std::memcmp(seen.data(), block.expected.data(), block.bytes()))
      << "a block of " << block.bytes() << " bytes, kind " << static_cast<int>(block.kind);
}

void Sequence::finish() {
  EXPECT_OK(cudaDeviceSynchronize());
  for (auto const& block : blocks_) check(*block);
  while (!blocks_.empty()) release(blocks_.size() - 1);
  while (streams_.size() > 1) {
    EXPECT_OK(cudaStreamDestroy(streams_.back().handle));
    streams_.pop_back();
  }
  check_memory();
  EXPECT_EQ(cudaSuccess, cudaGetLastError());
}

}  // namespace conformance
