// SPDX-License-Identifier: Apache-2.0
// Cooperative launches: all blocks exist at once and meet in grid.sync(). They share the calling OS thread, each on an
// engine of its own; a block leaves when the last of its threads has come to the meeting point, and is continued when
// all blocks have. The static shared memory is one per OS thread, so it is put aside with each block that leaves.
#include <pthread.h>

#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "softgpu/kernel/engine/engine.h"
#include "softgpu/kernel/engine/report.h"

namespace tidemark::softgpu {
namespace {

constexpr const char* kNotAllMeet = "some blocks wait in grid.sync() that others have left the kernel without reaching";

}  // namespace

// A block of the grid that waits for the others.
struct Engine::Resident {
  std::unique_ptr<Engine> engine;
  std::uint64_t block;
  std::vector<std::byte> static_shared;
};

class Engine::Meeting {
 public:
  Meeting(Engine& host, const BlockJob& job) : host_(host), job_(job), static_shared_(static_shared_memory()) {}
  ~Meeting() { host_.stand_in(); }

  SoftgpuKernelStatus run(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t block = first; block < last; ++block)
      if (SoftgpuKernelStatus const status = start(block); status != SOFTGPU_KERNEL_OK) return status;
    while (!waiting_.empty()) {
      if (finished_ != 0) {
        say_fault(job_, kNotAllMeet);
        return SOFTGPU_KERNEL_DIVERGENT_SYNC;
      }
      for (Resident& one : std::exchange(waiting_, {}))
        if (SoftgpuKernelStatus const status = go_on(one); status != SOFTGPU_KERNEL_OK) return status;
    }
    return SOFTGPU_KERNEL_OK;
  }

 private:
  SoftgpuKernelStatus start(std::uint64_t block) {
    if (!spare_) spare_.reset(new (std::nothrow) Engine);
    if (!spare_) {
      say_fault(job_, "no memory to hold all blocks of a cooperative launch");
      return SOFTGPU_KERNEL_BAD_LAUNCH;
    }
    Resident one{.engine = std::move(spare_), .block = block, .static_shared = {}};
    one.engine->stand_in();
    if (!one.engine->begin(job_)) return SOFTGPU_KERNEL_BAD_LAUNCH;
    one.engine->run_block(block);
    return settle(one);
  }

  SoftgpuKernelStatus go_on(Resident& one) {
    one.engine->stand_in();
    if (!one.static_shared.empty()) std::memcpy(static_shared_.data(), one.static_shared.data(), static_shared_.size());
    one.engine->continue_block(one.block);
    return settle(one);
  }

  SoftgpuKernelStatus settle(Resident& one) {
    SoftgpuKernelStatus const status = one.engine->status_;
    if (status == SOFTGPU_KERNEL_OK && one.engine->parked_) {
      one.static_shared.assign(static_shared_.begin(), static_shared_.end());
      waiting_.push_back(std::move(one));
    } else if (status == SOFTGPU_KERNEL_OK) {
      ++finished_;
      spare_ = std::move(one.engine);
    }
    return status;
  }

  Engine& host_;
  const BlockJob& job_;
  std::span<std::byte> static_shared_;
  std::vector<Resident> waiting_;
  std::unique_ptr<Engine> spare_;
  std::uint64_t finished_ = 0;
};

SoftgpuKernelStatus Engine::run_cooperative(const BlockJob& job, std::uint64_t first, std::uint64_t last) {
  return Meeting(*this, job).run(first, last);
}

}  // namespace tidemark::softgpu
