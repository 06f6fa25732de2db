// SPDX-License-Identifier: Apache-2.0
#include "interpose/record/recorder.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "base/reserved.h"
#include "interpose/process/shield.h"
#include "interpose/record/devices.h"
#include "interpose/record/thread.h"
#include "interpose/scope/marks.h"
#include "interpose/scope/nvtx_ranges.h"
#include "interpose/stack/stacks.h"
#include "interpose/watch/cupti.h"

namespace tidemark::interpose {
namespace {

constinit Recorder the_recorder;

using Counter = std::uint64_t;

Counter add(Counter& field, Counter n) {
  return std::atomic_ref(field).fetch_add(n, std::memory_order_relaxed) + n;
}
void subtract(Counter& field, Counter n) {
  std::atomic_ref(field).fetch_sub(n, std::memory_order_relaxed);
}
void raise(Counter& field, Counter to) {
  std::atomic_ref peak(field);
  for (Counter now = peak.load(std::memory_order_relaxed); now < to;)
    if (peak.compare_exchange_weak(now, to, std::memory_order_relaxed)) return;
}

trace::Live live_of(std::uint64_t address, const Owned& block) {
  return {.block_class = static_cast<std::uint64_t>(block.block_class),
          .generation = block.generation,
          .phase = static_cast<std::uint64_t>(block.phase),
          .kind = static_cast<std::uint64_t>(block.kind),
          .device = block.device,
          .address = address,
          .size_bytes = block.size_bytes,
          .ticks = block.ticks,
          .step = block.step,
          .path = block.path,
          .stack = block.stack,
          .name = block.name,
          .stream = block.stream,
          .parent = block.parent};
}

bool is_host_visible(trace::Class block_class) {
  return block_class == trace::Class::Pinned || block_class == trace::Class::Registered ||
         block_class == trace::Class::Managed;
}

// CUPTI knows the driver's own blocks, and nothing of those that are served.
bool is_audited(const Owned& block) {
  return cupti_audits() && block.generation == 0;
}

// A mapping lies where its physical block does.
AuditedBlock audited(std::uint64_t address, const Owned& block, Registry& registry) {
  AuditedBlock out{.address = address,
                   .size_bytes = block.size_bytes,
                   .block_class = block.block_class,
                   .device = block.device,
                   .doubt = block.is_handle ? Doubt::Before : Doubt::None};
  if (block.block_class == trace::Class::Mapping)
    if (auto const physical = registry.find(trace::Space::Physical, block.parent)) out.device = physical->device;
  return out;
}

// A trace without call stacks is better than none.
void start_stacks(const trace::File& file, trace::Dictionary& names) {
  auto const begun = stacks().start(file, &the_recorder);
  names.fact("stacks", begun.ok() ? "native" : begun.error().what);
  if (!begun.ok()) say("tidemark", begun.error().what + "; none are recorded");
}

}  // namespace

Recorder& recorder() {
  return the_recorder;
}

void ListedBlocks::list(trace::CheckpointWriter& to) {
  to.prepare(registry_.size());
  registry_.for_each([&](std::uint64_t address, const Owned& block) { to.block(live_of(address, block)); });
}

// A name that is taken belongs to another process of the same launch, or to an earlier run.
Result<void> Recorder::create_file(const Options& options, trace::Mode mode) {
  auto const pid = static_cast<std::uint32_t>(getpid());
  auto const create = [&](const std::string& path) {
    return file_.create({.path = path, .mode = mode, .ring_bytes = options.ring_bytes, .live_blocks = &listed_});
  };
  // A link to a trace that is gone is a name that is taken too.
  auto const taken = [](const std::string& name) {
    return faccessat(AT_FDCWD, name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  };
  std::string const path = expand_path(options.out, pid);
  Result<void> created = create(path);
  if (created.ok() || !taken(path)) return created;
  std::string const second = with_suffix(path, pid);
  created = create(second);
  for (std::uint64_t i = 2; i < 100 && !created.ok() && taken(second); ++i) created = create(with_suffix(second, i));
  return created;
}

Result<void> Recorder::start(const Options& options, trace::Mode mode) {
  if (auto created = create_file(options, mode); !created.ok()) return created;
  if (!names_.start(file_) || !lanes_.start(file_))
    return Error{Errc::OutOfMemory, "no memory for the trace's tables", ""};
  if (options.stacks) start_stacks(file_, names_);
  return {};
}

trace::Lane* Recorder::lane() {
  bool const fresh = this_thread().lane == nullptr;
  trace::Lane* const lane = lanes_.mine();
  if (lane == nullptr) {
    file_.count_loss(trace::Loss::NoThread);
    return nullptr;
  }
  Marks* const marks = this_thread().marks;
  bool const settled = marks != nullptr && marks->disturbed() && settle_nvtx_ranges(*marks);
  if (fresh && marks != nullptr) {
    if (std::uint32_t const path = marks->path(names_); path != 0) lane->enter(path);
    lane->phase(marks->phase());
    scope_changed();
  } else if (settled) {
    lane->leave(marks->path(names_));
    lane->phase(marks->phase());
    scope_changed();
  }
  if (std::uint64_t const step = step_.load(std::memory_order_relaxed); trace::step_of(lane->context()) != step) {
    if (trace::Ring* const ring = file_.ring()) ring->follow_step(step_);
    lane->step(step);
  }
  return lane;
}

void Recorder::count_in(const Owned& block) {
  trace::Totals& totals = file_.header().totals;
  add(totals.allocations, 1);
  if (is_host_visible(block.block_class)) host_visible_.fetch_add(1, std::memory_order_relaxed);
  if (!trace::on_device(block.block_class)) return;
  std::uint64_t const live = round_up(block.size_bytes, kLiveStep);
  devices().count_live(block.device, live);
  std::uint64_t const now = add(totals.live_bytes, live);
  raise(totals.peak_live_bytes, now);
  if (file_.ring() == nullptr) return;
  trace::RingState& ring = file_.header().ring;
  raise(ring.step_peak_live_bytes, now);
  raise(ring.peak_requested_bytes, add(ring.requested_bytes, block.size_bytes));
}

void Recorder::count_out(const Owned& block) {
  trace::Totals& totals = file_.header().totals;
  add(totals.frees, 1);
  if (is_host_visible(block.block_class)) host_visible_.fetch_sub(1, std::memory_order_relaxed);
  if (!trace::on_device(block.block_class)) return;
  std::uint64_t const live = round_up(block.size_bytes, kLiveStep);
  devices().count_live(block.device, 0 - live);
  subtract(totals.live_bytes, live);
  if (file_.ring() != nullptr) subtract(file_.header().ring.requested_bytes, block.size_bytes);
}

void Recorder::allocated(const Allocation& a) {
  Owned block{.size_bytes = a.size_bytes,
              .context = a.context,
              .parent = a.parent,
              .block_class = a.block_class,
              .device = a.device,
              .is_handle = a.is_handle,
              .generation = a.generation};
  trace::Lane* const to = lane();
  if (to != nullptr) {
    // What the record will say: a ring's sums and what is said of the block later must agree.
    block.step = trace::step_of(to->context());
    block.path = to->scope();
    block.phase = static_cast<trace::Phase>(to->context().phase);
    block.stream = a.stream == 0 ? 0 : names_.stream(a.stream, a.device, 0);
  }
  if (stacks().on()) block.stack = stacks().here(names_);
  std::optional<Owned> before;
  if (!registry_.insert(a.address, block, before, file_.clock())) {
    file_.count_loss(trace::Loss::Failed);
    return;
  }
  if (before) passed_by(a.address, *before, block.ticks - 1);
  count_in(block);
  if (is_audited(block)) cupti_audit().allocated(audited(a.address, block, registry_));
  if (to == nullptr) return;
  to->device(a.device);
  to->stream(block.stream);
  to->stack(block.stack);
  to->alloc_at({.address = a.address,
                .size_bytes = a.size_bytes,
                .block_class = a.block_class,
                .generation = a.generation,
                .parent = a.parent},
               block.ticks);
}

// Two blocks cannot have one address: the one before has ended, however that passed us by.
void Recorder::passed_by(std::uint64_t address, const Owned& block, std::uint64_t ticks) {
  count_out(block);
  if (is_audited(block)) {
    AuditedBlock ended = audited(address, block, registry_);
    ended.doubt = Doubt::Context;
    cupti_audit().released(ended);
  }
  if (trace::Lane* const to = lane()) record_free(*to, address, block, ticks);
}

Leaving Recorder::leave(trace::Space space, std::uint64_t address) {
  Leaving leaving{.address = address};
  if (auto const taken = registry_.take(space, address, file_.clock())) {
    leaving.known = true;
    leaving.block = taken->block;
    leaving.ticks = taken->ticks;
  }
  return leaving;
}

void Recorder::record_free(trace::Lane& to, std::uint64_t address, const Owned& block, std::uint64_t ticks) {
  to.device(block.device);
  to.free_at({.address = address, .block_class = block.block_class, .generation = block.generation}, ticks);
}

void Recorder::left(const Leaving& leaving, std::uint64_t stream) {
  if (!leaving.known) {
    if (cupti_audits() && leaving.address != 0)
      cupti_audit().released({.address = leaving.address, .doubt = Doubt::Before});
    return;
  }
  count_out(leaving.block);
  if (is_audited(leaving.block)) cupti_audit().released(audited(leaving.address, leaving.block, registry_));
  trace::Lane* const to = lane();
  if (to == nullptr) return;
  to->stream(stream == 0 ? 0 : names_.stream(stream, leaving.block.device, 0));
  record_free(*to, leaving.address, leaving.block, leaving.ticks);
}

void Recorder::stayed(const Leaving& leaving) {
  if (!leaving.known) return;
  std::uint64_t const ticks = registry_.put_back(leaving.address, leaving.block, file_.clock());
  if (ticks == 0) return file_.count_loss(trace::Loss::Failed);
  // A checkpoint may have been taken meanwhile.
  if (file_.ring() == nullptr) return;
  if (trace::Lane* const to = lane()) to->still_live_at(live_of(leaving.address, leaving.block), ticks);
}

void Recorder::end_blocks(std::uint64_t ticks, bool (*belongs)(const Owned&, void*), void* data) {
  // First found, then recorded: a record may need a new chunk, and that a look at all blocks.
  struct Found {
    std::uint64_t address;
    Owned block;
  };
  std::size_t most = 0, count = 0;
  registry_.for_each([&](std::uint64_t, const Owned& block) { most += belongs(block, data) ? 1 : 0; });
  Reserved const memory = Reserved::map((most + 1) * sizeof(Found));
  auto* const found = reinterpret_cast<Found*>(memory.data());
  if (found == nullptr) return file_.count_loss(trace::Loss::Failed);
  registry_.for_each([&](std::uint64_t address, const Owned& block) {
    if (block.ticks < ticks && count < most && belongs(block, data)) found[count++] = {address, block};
  });
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t const taken = registry_.take_if(found[i].address, found[i].block, file_.clock());
    if (taken == 0) continue;
    // They ended before anything that came after; but a ring's checkpoint holds what it saw in the registry.
    passed_by(found[i].address, found[i].block, file_.ring() == nullptr ? ticks : taken);
  }
}

void Recorder::undone(const Allocation& a) {
  if (!cupti_audits()) return;
  AuditedBlock const block{
      .address = a.address, .size_bytes = a.size_bytes, .block_class = a.block_class, .device = a.device};
  cupti_audit().allocated(block);
  cupti_audit().released(block);
}

void Recorder::tag(std::uint64_t address, trace::Kind kind, std::string_view name) {
  std::uint32_t const id = name.empty() ? 0 : names_.string(name);
  auto const before = registry_.set_kind(trace::Space::Memory, address, kind, id);
  trace::Lane* const to = before ? lane() : nullptr;
  if (to == nullptr) return;
  if (file_.ring() == nullptr) return to->label(address, kind, id);
  to->relabel({.block_class = static_cast<std::uint64_t>(before->block_class),
               .kind = static_cast<std::uint64_t>(kind),
               .kind_before = static_cast<std::uint64_t>(before->kind),
               .address = address,
               .size_bytes = before->size_bytes,
               .path = before->path,
               .name = id,
               .step = before->step,
               .generation = before->generation,
               .phase = static_cast<std::uint64_t>(before->phase),
               .device = before->device});
}

void Recorder::enter_layer() {
  Marks* const marks = this_thread().marks;
  std::uint32_t const path = marks->path(names_);
  if (trace::Lane* const to = lane()) to->enter(path);
  scope_changed();
}

void Recorder::leave_layer() {
  Marks* const marks = this_thread().marks;
  if (trace::Lane* const to = lane()) to->leave(marks->path(names_));
  scope_changed();
}

void Recorder::phase_changed() {
  if (trace::Lane* const to = lane()) to->phase(this_thread().marks->phase());
  scope_changed();
}

void Recorder::step(std::uint64_t number) {
  if (step_.exchange(number, std::memory_order_relaxed) == number || !recording()) return;
  // Of this thread; others get there with their next mark.
  shield([this] {
    lane();
    scope_changed();
  });
}

void Recorder::scope_changed() {
  if (!cupti_follows_launches()) return;
  Marks* const marks = this_thread().marks;
  std::uint64_t const step = step_.load(std::memory_order_relaxed);
  follow_launches({.path = marks == nullptr ? 0 : marks->path(names_),
                   .phase = marks == nullptr ? trace::Phase::Other : marks->phase(),
                   .step = step == trace::kNoStep ? 0 : static_cast<std::uint32_t>(step)});
}

void Recorder::reserved_changed(std::uint64_t by) {
  trace::Totals& totals = file_.header().totals;
  raise(totals.peak_reserved_bytes, add(totals.reserved_bytes, by));
}

void Recorder::device_use(const trace::DeviceUse& use) {
  if (trace::Lane* const to = lane()) to->device_use(use);
}

void Recorder::cache_use(const trace::CacheUse& use, const trace::CacheCounts& counts) {
  if (trace::Lane* const to = lane()) to->cache_use(use, counts);
}

void Recorder::pin(const trace::Pin& pin) {
  if (trace::Lane* const to = lane()) to->pin(pin);
}

void Recorder::late_free(const trace::LateFree& free) {
  if (trace::Lane* const to = lane()) to->late_free(free);
}

void Recorder::failure(trace::Failure failure, std::string_view text) {
  failure.text = text.empty() || file_.few_names_left() ? 0 : names_.string(text);
  trace::Lane* const to = lane();
  if (to == nullptr) return;
  if (stacks().on()) to->stack(stacks().here(names_));
  to->failure(failure);
}

// Its times are the device's, and its thread is the one that reads them: nothing of that thread's own goes before it.
void Recorder::kernel(const trace::Kernel& kernel, std::uint64_t start_ticks) {
  if (trace::Lane* const to = lanes_.mine())
    to->kernel_at(kernel, start_ticks);
  else
    file_.count_loss(trace::Loss::NoThread);
}

}  // namespace tidemark::interpose
