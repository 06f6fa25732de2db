// SPDX-License-Identifier: Apache-2.0
#include "softgpu/driver/driver.h"

#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>
#include <utility>

#include "base/log.h"
#include "softgpu/driver/capture.h"
#include "softgpu/driver/graph_exec.h"
#include "softgpu/driver/observe.h"
#include "softgpu/interface/default_stream.h"
#include "softgpu/model/variables.h"
#include "softgpu/queue/host_thread.h"

namespace tidemark::softgpu {
namespace {

struct Configuration {
  std::optional<Config> config;
  Configuration() {
    for (auto const& [name, nearest] : unknown_variables(environ))
      say("softgpu", name + " is not a variable of softgpu and has no effect" +
                         (nearest.empty() ? std::string() : " (meant: " + std::string(nearest) + "?)"));
    auto read = read_config();
    if (read.ok()) {
      config = std::move(*read);
    } else {
      say("softgpu", "error: " + read.error().what + (read.error().hint.empty() ? "" : " (" + read.error().hint + ")"));
    }
  }
};

const Configuration& configuration() {
  static const Configuration& instance = *new Configuration;
  return instance;
}

constinit thread_local std::uint64_t t_thread_number = 0;
constinit std::atomic<std::uint64_t> g_threads{0};
constinit std::atomic<bool> g_driver_made{false};

// A fault found by the checker must be seen by whoever started the program, whatever the program itself answers.
constexpr int kCheckFailedExit = 86;
constexpr int kLockAttempts = 500;

// Libraries that are torn down after this one may still call: they are told that the driver is gone.
__attribute__((destructor)) void end_of_process() {
  if (!g_driver_made || Driver::get().forked) return;
  Driver& driver = Driver::get();
  driver.ended = true;
  std::uint64_t reports = 0;
  {
    // Others hold it for moments only, but a thread of the program may have been stopped inside a call for good.
    Lock lock(driver.engine.mutex(), std::try_to_lock);
    for (int i = 0; i < kLockAttempts && !lock.owns_lock(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      static_cast<void>(lock.try_lock());
    }
    if (!lock.owns_lock()) return;
    for (auto const& device : driver.devices) device->ledger->leave();
    if (driver.checker != nullptr) reports = driver.checker->reports();
  }
  if (reports == 0) return;
  say("softgpu", "check: " + std::to_string(reports) + (reports == 1 ? " report" : " reports") + ", exit code " +
                     std::to_string(kCheckFailedExit));
  std::fflush(nullptr);
  ::_exit(kCheckFailedExit);
}

// The per-thread default streams of a thread that has ended are of no use to anybody else.
struct ThreadEnd {
  ~ThreadEnd() {
    if (t_thread_number == 0 || !g_driver_made) return;
    Driver& driver = Driver::get();
    if (driver.forked || driver.ended) return;
    Call call{driver, Lock(driver.engine.mutex())};
    driver.contexts.for_each([&](CUctx_st& context) {
      auto const own = context.per_thread_streams.find(t_thread_number);
      if (own == context.per_thread_streams.end()) return;
      own->second->destroyed = true;
      abandon_capture(call, own->second);
      context.per_thread_streams.erase(own);
    });
  }
};

}  // namespace

Driver::Driver(Config read)
    : config(std::move(read)),
      checker(config.check ? &checker_storage : nullptr),
      engine(config, checker),
      graph(*new GraphObjects) {
  // A context does not survive fork: the child gets errors, never the parent's queues and locks. Before cuInit there is
  // nothing to lose: the child begins anew.
  ::pthread_atfork(nullptr, nullptr, [] {
    if (Driver::get().initialised) Driver::get().forked = true;
  });
}

Driver* Driver::configured() {
  return configuration().config ? &get() : nullptr;
}

Driver& Driver::get() {
  static Driver& instance = *new Driver(*configuration().config);
  g_driver_made.store(true, std::memory_order_relaxed);
  return instance;
}

std::uint64_t thread_number() {
  if (t_thread_number == 0) {
    t_thread_number = ++g_threads;
    thread_local ThreadEnd end;
    static_cast<void>(end);
  }
  return t_thread_number;
}

namespace {

// Static objects of the program may call after the thread's own objects are gone: a plain pointer outlives them, and a
// stack that is asked for then is made again and stays.
constinit thread_local std::vector<CUcontext>* t_stack = nullptr;
constinit thread_local bool t_stack_ended = false;

struct StackEnd {
  ~StackEnd() {
    t_stack_ended = true;
    // The main thread's objects go before the program's static ones, which may still need the context.
    if (::getpid() != ::gettid()) delete std::exchange(t_stack, nullptr);
  }
};

}  // namespace

std::vector<CUcontext>& context_stack() {
  if (t_stack == nullptr) {
    t_stack = new std::vector<CUcontext>;
    if (!t_stack_ended) {
      thread_local StackEnd end;
      static_cast<void>(end);
    }
  }
  return *t_stack;
}

CUcontext current_context(Driver&) {
  auto const& stack = context_stack();
  return stack.empty() ? nullptr : stack.back();
}

CUresult enter_driver(std::optional<Call>& call) {
  Driver* const driver = Driver::configured();
  if (driver == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (driver->forked) return CUDA_ERROR_NOT_INITIALIZED;
  if (driver->ended) return CUDA_ERROR_DEINITIALIZED;
  if (on_host_thread()) return CUDA_ERROR_NOT_PERMITTED;
  call.emplace(Call{*driver, Lock(driver->engine.mutex())});
  return driver->initialised ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult enter_context(std::optional<Call>& call) {
  if (CUresult const refused = enter_driver(call); refused != CUDA_SUCCESS) return refused;
  CUcontext const current = current_context(call->driver);
  if (current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (call->driver.contexts.check(current) == nullptr || current->ending ||
      (current->primary && !current->device->primary_active))
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  call->context = current;
  return static_cast<CUresult>(current->error);
}

CUresult leave(Call& call, CUresult result) {
  // Errors of earlier asynchronous work surface from any call that notices them.
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY)
    if (call.context->error != 0) return static_cast<CUresult>(call.context->error);
  return result;
}

CUstream make_stream(Driver& driver, CUcontext context, unsigned flags, int priority) {
  CUstream const stream = driver.streams.create();
  stream->group = context;
  stream->context = context;
  stream->id = driver.next_id();
  stream->flags = flags;
  stream->priority = priority;
  stream->blocking = (flags & CU_STREAM_NON_BLOCKING) == 0;
  return stream;
}

CUstream stream_of(Call& call, CUstream handle) {
  if (handle == nullptr) handle = PerThreadDefaultStream::active() ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
  if (handle == CU_STREAM_LEGACY) return call.context->legacy_handle;
  if (handle == CU_STREAM_PER_THREAD) {
    CUstream& own = call.context->per_thread_streams[thread_number()];
    if (own == nullptr) {
      own = make_stream(call.driver, call.context, CU_STREAM_DEFAULT, 0);
      own->is_default = true;
      call.context->streams.push_back(own);
      observe_created(own);
    }
    return own;
  }
  CUstream const stream = call.driver.streams.check(handle);
  return stream != nullptr && !stream->destroyed ? stream : nullptr;
}

void reap_streams(Driver& driver, CUcontext context) {
  std::erase_if(context->streams, [&](Stream* s) {
    auto* const stream = static_cast<CUstream_st*>(s);
    if (!stream->destroyed || stream->running || !stream->pending.empty() || !driver.engine.idle(*stream)) return false;
    driver.engine.forget(*stream);
    driver.streams.destroy(stream);
    return true;
  });
}

void settle_pools(Driver& driver) {
  driver.pools.for_each([&](CUmemPoolHandle_st& handle) {
    handle.pool->settle();
    if (handle.destroyed && handle.pool->is_empty()) driver.pools.destroy(&handle);
  });
}

namespace {
std::uint64_t g_allocation_calls = 0;
std::uint64_t g_launch_calls = 0;
std::uint64_t g_event_questions = 0;
}  // namespace

bool fault_oom(Driver& driver, std::uint64_t bytes) {
  ++g_allocation_calls;
  for (Fault const& f : driver.config.faults) {
    if (f.kind == Fault::Kind::OomAt && f.value == g_allocation_calls) return true;
    if (f.kind == Fault::Kind::OomAbove && bytes > f.value) return true;
  }
  return false;
}

CUresult fault_launch(Driver& driver) {
  ++g_launch_calls;
  for (Fault const& f : driver.config.faults) {
    if (f.value != g_launch_calls) continue;
    if (f.kind == Fault::Kind::LaunchAt) return CUDA_ERROR_LAUNCH_FAILED;
    if (f.kind == Fault::Kind::EccAt) return CUDA_ERROR_ECC_UNCORRECTABLE;
  }
  return CUDA_SUCCESS;
}

bool fault_early(Driver& driver) {
  ++g_event_questions;
  for (Fault const& f : driver.config.faults)
    if (f.kind == Fault::Kind::EarlyFrom && g_event_questions >= f.value) return true;
  return false;
}

void fault_slow(Driver& driver, SlowCall call) {
  for (Fault const& f : driver.config.faults)
    if (f.kind == Fault::Kind::Slow && (f.call == name_of(call).group || f.call == name_of(call).name))
      std::this_thread::sleep_for(std::chrono::nanoseconds(f.value));
}

extern "C" int softgpu_not_supported(const char* name) {
  say_once(name, "softgpu", std::string(name) + " is not supported");
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace tidemark::softgpu
