// SPDX-License-Identifier: Apache-2.0
// One random sequence of API calls beside a small model of what they must do: what each block holds, how much memory
// the device has left, which error each wrong call gives. The same seed makes the same calls. Whatever the schedule,
// values are certain: a stream that uses a block first waits for its last use, by an event or by the legacy stream's
// own order.
#pragma once
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "tests/conformance/support/device.h"

namespace conformance {

enum class Kind { Device, Pool, Pinned, Managed };

struct ModelStream {
  cudaStream_t handle = nullptr;
  bool blocking = true;
  int id = 0;  // 0: the legacy default stream
};

struct ModelBlock {
  Kind kind = Kind::Device;
  bool may_be_served = false;  // where there is an allocator before the driver
  std::byte* data = nullptr;
  std::vector<std::byte> expected;
  cudaEvent_t last_use = nullptr;
  ModelStream last_stream;
  std::size_t bytes() const { return expected.size(); }
};

class Sequence {
 public:
  explicit Sequence(std::uint64_t seed);
  ~Sequence();
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;
  void run(int steps);
  // Checks and frees everything that is left.
  void finish();

 private:
  struct Part {
    std::size_t offset, bytes;
  };
  std::uint64_t pick(std::uint64_t count) { return random_() % count; }
  ModelStream any_stream() { return streams_[pick(streams_.size())]; }
  ModelBlock* any_block();
  Part any_part(const ModelBlock& block);
  std::size_t any_size();

  void step();
  void allocate();
  void release();
  void fill();
  void add();
  void set();
  void copy();
  void copy_rows();
  void upload();
  void check_part();
  void make_stream();
  void drop_stream();
  void synchronise();
  void check_memory();
  void call_wrongly();

  void release(std::size_t index);
  void release_device(ModelBlock& block);
  void use(ModelBlock& block, const ModelStream& stream);
  void used(ModelBlock& block, const ModelStream& stream);
  void remember_freed(const ModelBlock& block);
  void check(const ModelBlock& block);
  std::size_t small_bytes() const;
  std::size_t large_bytes() const;
  std::size_t served_frames() const;
  std::uint64_t reserved_by_pools() const;

  std::mt19937_64 random_;
  std::vector<ModelStream> streams_;
  std::vector<std::unique_ptr<ModelBlock>> blocks_;
  std::vector<std::byte*> freed_;
  cudaMemPool_t own_pool_ = nullptr, default_pool_ = nullptr;
  std::size_t free_at_start_ = 0;
  int next_stream_ = 1;
};

}  // namespace conformance
