// SPDX-License-Identifier: Apache-2.0
#include "interpose/serve/uses.h"

#include <string.h>

#include <array>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/log.h"
#include "base/spin_lock.h"
#include "interpose/order/clocks.h"
#include "interpose/order/ranges.h"
#include "interpose/process/process.h"
#include "interpose/real/primary.h"
#include "interpose/record/layer_name.h"
#include "interpose/record/recorder.h"
#include "interpose/scope/marks.h"
#include "interpose/serve/cache.h"
#include "interpose/serve/captures.h"

namespace tidemark::interpose::serve {
namespace {

using order::Clocks;
using order::Work;

struct Use {
  KnownStream* stream = nullptr;
  std::uint64_t key = 0;  // of the stream, so that one that is gone is noticed
  Clocks::Time time = 0;
  std::uint32_t path = 0;
  trace::LateFree::By by{};
};
// The last uses of a block, one for each of a few streams.
struct Uses {
  std::array<Use, 4> last{};
};
struct Parameter {
  std::size_t bytes = 0;
};

struct State {
  SpinLock lock;
  Clocks clocks;
  std::unordered_map<std::uint64_t, Uses> blocks;
  std::unordered_map<std::uint64_t, std::vector<Parameter>> functions;
};
State& state() {
  static State* const made = new State;  // never taken down
  return *made;
}

std::uint32_t path_here() {
  Marks* const marks = this_thread().marks;
  return marks == nullptr ? 0 : marks->path(recorder().names());
}

Clocks::Kind kind_of(const KnownStream& stream) {
  if (stream.cuda.own_default) return Clocks::Kind::Blocking;
  if (stream.cuda.stream == nullptr) return Clocks::Kind::Legacy;
  unsigned int flags = 0;
  bool const told = call(&Driver::cuStreamGetFlags, stream.cuda.stream, &flags) == CUDA_SUCCESS;
  return told && (flags & CU_STREAM_NON_BLOCKING) != 0 ? Clocks::Kind::NonBlocking : Clocks::Kind::Blocking;
}

// Its number among the clocks.
int clock_of(KnownStream& stream) {
  int number = stream.clock.load(std::memory_order_acquire);
  if (number != KnownStream::kNoClock) return number;
  Clocks::Kind const kind = kind_of(stream);
  std::scoped_lock const guard(state().lock);
  number = stream.clock.load(std::memory_order_relaxed);
  if (number == KnownStream::kNoClock) {
    number = state().clocks.add(kind);
    stream.clock.store(number, std::memory_order_release);
  }
  return number;
}

// The served block in which an address lies; 0: none.
std::uint64_t block_around(std::uint64_t address) {
  Cache* const cache = owner_of(address);
  allocator::Allocator::Block block;
  return cache != nullptr && cache->allocator->describe_around(address, &block) ? block.address : 0;
}

void note(std::uint64_t block, const Use& use) {
  Uses& uses = state().blocks[block];
  Use* place = &uses.last[0];
  for (Use& u : uses.last) {
    if (u.stream == use.stream) {
      u = use;
      return;
    }
    if (u.time < place->time || u.stream == nullptr) place = &u;
  }
  *place = use;
}

// --- kernels ---

// The parameters of a function, as far as the driver tells them.
std::vector<Parameter> ask_parameters(std::uint64_t function) {
  constexpr std::size_t kMost = 4096;  // as many as there may be bytes of them
  std::vector<Parameter> all;
  for (std::size_t i = 0; i < kMost; ++i) {
    std::size_t offset = 0, bytes = 0;
    CUresult result = call(&Driver::cuFuncGetParamInfo, reinterpret_cast<CUfunction>(function), i, &offset, &bytes);
    // A handle may be a kernel's, which is none of a function.
    if (result == CUDA_ERROR_INVALID_HANDLE)
      result = call(&Driver::cuKernelGetParamInfo, reinterpret_cast<CUkernel>(function), i, &offset, &bytes);
    if (result != CUDA_SUCCESS) break;
    all.push_back({bytes});
  }
  return all;
}

std::vector<Parameter> parameters_of(std::uint64_t function) {
  {
    std::scoped_lock const guard(state().lock);
    if (auto const known = state().functions.find(function); known != state().functions.end()) return known->second;
  }
  std::vector<Parameter> asked = ask_parameters(function);
  std::scoped_lock const guard(state().lock);
  return state().functions[function] = std::move(asked);
}

void find_blocks_in(const void* data, std::size_t bytes, std::vector<std::uint64_t>& blocks) {
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= bytes; at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    memcpy(&word, static_cast<const char*>(data) + at, sizeof word);
    if (std::uint64_t const block = block_around(word)) blocks.push_back(block);
  }
}

struct Launch {
  std::uint64_t function = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
};
// Where the arguments of a launch stand in the call; no function: not known.
Launch launch_of(const order::Entry& entry, const order::Arguments& a) {
  auto const words = [](std::uint64_t word) { return reinterpret_cast<void**>(word); };
  if (strncmp(entry.name, "cuLaunchKernelEx", 16) == 0) return {a.word(1), words(a.word(2)), words(a.word(3))};
  if (strncmp(entry.name, "cuLaunchKernel", 14) == 0) return {a.word(0), words(a.word(9)), words(a.word(10))};
  bool const several = strncmp(entry.name, "cuLaunchCooperativeKernelMulti", 30) == 0;
  if (!several && strncmp(entry.name, "cuLaunchCooperativeKernel", 25) == 0) return {a.word(0), words(a.word(9))};
  return {};
}

void find_blocks_of(const Launch& launch, std::vector<std::uint64_t>& blocks) {
  if (launch.function == 0) return;
  if (launch.parameters != nullptr) {
    std::vector<Parameter> const layout = parameters_of(launch.function);
    for (std::size_t i = 0; i < layout.size(); ++i)
      if (launch.parameters[i] != nullptr) find_blocks_in(launch.parameters[i], layout[i].bytes, blocks);
    return;
  }
  if (launch.extra == nullptr) return;
  const void* buffer = nullptr;
  const std::size_t* bytes = nullptr;
  constexpr int kMost = 8;  // there are three things to say
  void** at = launch.extra;
  for (int i = 0; i < kMost && *at != CU_LAUNCH_PARAM_END; ++i, at += 2) {
    if (*at == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = at[1];
    if (*at == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = static_cast<const std::size_t*>(at[1]);
  }
  if (buffer != nullptr && bytes != nullptr) find_blocks_in(buffer, *bytes, blocks);
}

// --- what calls mean ---

bool is(const order::Entry& entry, const char* name) {
  return strncmp(entry.name, name, strlen(name)) == 0;
}

void follow_event(const order::Submission& work, int clock) {
  Clocks& clocks = state().clocks;
  if (work.arguments == nullptr) return clocks.wait_for_anything(clock);
  if (is(work.entry, "cuStreamWaitEvent")) return clocks.wait(clock, work.arguments->word(1));
  if (is(work.entry, "cuEventRecord")) return clocks.record(work.arguments->word(0), clock);
  if (is(work.entry, "cuEventQuery")) return clocks.host_waited_for(work.arguments->word(0));
  if (is(work.entry, "cuEventDestroy")) return clocks.forget(work.arguments->word(0));
  // Of whole contexts: which streams that are is not followed.
  if (strstr(work.entry.name, "CtxRecordEvent") != nullptr) return clocks.forget(work.arguments->word(1));
  if (strstr(work.entry.name, "CtxWaitEvent") != nullptr) return clocks.host_waited_for_all();
}

// The host waits for a stream, or asks; without a stream for everything.
void follow_sync(int clock, bool has_stream) {
  has_stream ? state().clocks.host_waited(clock) : state().clocks.host_waited_for_all();
}

void follow_use(const order::Submission& work, KnownStream& stream, int clock) {
  std::vector<std::uint64_t> blocks;
  auto by = trace::LateFree::Kernel;
  bool const moves = work.entry.work == Work::Copy || work.entry.work == Work::Fill;
  if (work.arguments != nullptr && moves) {
    order::Ranges const named = order::ranges_of(work.entry, *work.arguments);
    by = work.entry.work == Work::Copy ? trace::LateFree::Copy : trace::LateFree::Fill;
    for (std::size_t i = 0; i < named.count; ++i)
      if (std::uint64_t const block = block_around(named.ranges[i].address)) blocks.push_back(block);
  } else if (work.arguments != nullptr && work.entry.work == Work::Launch) {
    find_blocks_of(launch_of(work.entry, *work.arguments), blocks);
  }
  std::uint32_t const path = blocks.empty() ? 0 : path_here();
  std::scoped_lock const guard(state().lock);
  Clocks::Time const time = state().clocks.work(clock);
  for (std::uint64_t const block : blocks)
    note(block, {.stream = &stream, .key = stream.key.load(), .time = time, .path = path, .by = by});
  // A copy that is not asynchronous is over when the call is.
  if (moves && strstr(work.entry.name, "Async") == nullptr) state().clocks.host_waited(clock);
}

// Whether the driver says that a stream has nothing to do any more, or cannot be asked.
bool is_idle(const Use& use) {
  const allocator::CudaStream& stream = use.stream->cuda;
  if (stream.own_default || capturing() || use.stream->key.load(std::memory_order_acquire) != use.key) return true;
  bool busy = false;
  with_context(stream.context, [&] { busy = call(&Driver::cuStreamQuery, stream.stream) == CUDA_ERROR_NOT_READY; });
  return !busy;
}

void report(Cache& cache, std::uint64_t address, std::uint64_t bytes, const KnownStream& freed, const Use& use) {
  constexpr std::array kBy{"a kernel", "a copy", "a fill"};
  auto const number = [](const KnownStream& s) { return reinterpret_cast<std::uint64_t>(s.cuda.stream); };
  recorder().late_free({.by = use.by,
                        .device = cache.device,
                        .address = address,
                        .size_bytes = bytes,
                        .used_path = use.path,
                        .freed_stream = number(freed),
                        .used_stream = number(*use.stream)});
  say_once("late free", "tidemark",
           std::string("the program frees memory that is still in use: ") + format_bytes({bytes}) + " in " +
               LayerName(path_here()).text + ", while " + kBy[static_cast<std::size_t>(use.by)] +
               " of another stream, submitted in " + LayerName(use.path).text +
               ", has not ended and nothing puts it before the free; the trace names every case");
}

}  // namespace

bool follows_uses() {
  return options().cache.check_frees;
}

void follow(const order::Submission& work, KnownStream* stream) {
  bool const has_stream = stream != nullptr;
  int const clock = has_stream ? clock_of(*stream) : Clocks::kUntold;
  switch (work.entry.work) {
    case Work::Launch:
    case Work::Copy:
    case Work::Fill:
      if (has_stream) follow_use(work, *stream, clock);
      return;
    default: break;
  }
  std::scoped_lock const guard(state().lock);
  switch (work.entry.work) {
    case Work::Event: return follow_event(work, clock);
    case Work::Stream: return state().clocks.wait_for_anything(clock);  // for a value, or attached memory
    case Work::Sync:
      // Told by host_waits_for(), which knows the event.
      if (work.arguments == nullptr && is(work.entry, "cuEventSynchronize")) return;
      return follow_sync(clock, work.stream.kind != order::Stream::Kind::None);
    // What a host function tells the host, and what graphs and other libraries do with events, is not known.
    case Work::Host:
    case Work::Graph:
    case Work::Interop: state().clocks.host_waited_for_all(); return state().clocks.forget_events();
    default: return;
  }
}

void host_waits_for(std::uint64_t event) {
  std::scoped_lock const guard(state().lock);
  event == 0 ? state().clocks.host_waited_for_all() : state().clocks.host_waited_for(event);
}

void forget_functions() {
  std::scoped_lock const guard(state().lock);
  state().functions.clear();
}

void forget_uses_of(const KnownStream& stream) {
  std::scoped_lock const guard(state().lock);
  if (int const clock = stream.clock.load(std::memory_order_acquire); clock >= 0) state().clocks.remove(clock);
}

void block_begins(std::uint64_t address) {
  std::scoped_lock const guard(state().lock);
  state().blocks.erase(address);
}

void block_ends(Cache& cache, std::uint64_t address, std::uint64_t bytes, KnownStream* stream) {
  int const clock = stream == nullptr ? Clocks::kUntold : clock_of(*stream);
  Use early;
  {
    std::scoped_lock const guard(state().lock);
    auto const found = state().blocks.find(address);
    if (found == state().blocks.end()) return;
    for (const Use& use : found->second.last) {
      if (use.stream == nullptr || use.stream == stream) continue;
      if (!state().clocks.is_before(use.stream->clock.load(std::memory_order_relaxed), use.time, clock)) early = use;
    }
    state().blocks.erase(found);
  }
  if (early.stream != nullptr && !is_idle(early)) report(cache, address, bytes, *stream, early);
}

}  // namespace tidemark::interpose::serve
