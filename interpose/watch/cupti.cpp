// SPDX-License-Identifier: Apache-2.0
#include "interpose/watch/cupti.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/log.h"
#include "interpose/process/process.h"
#include "interpose/record/recorder.h"
#include "interpose/serve/ours.h"
#include "interpose/watch/cupti_buffers.h"
#include "interpose/watch/cupti_library.h"
#include "interpose/watch/cupti_name.h"
#include "interpose/watch/cupti_report.h"
#include "interpose/watch/watcher.h"

namespace tidemark::interpose {

constinit std::atomic<bool> detail::cupti_audits{false}, detail::cupti_follows{false};

namespace {

using Word = std::atomic<std::uint32_t>;

constexpr long kPeriodNs = 250'000'000;
constexpr long kPatienceNs = 2'000'000'000;
// So many full buffers wake the reader before its time.
constexpr std::size_t kWakeAt = 8;

constinit CuptiLibrary library;
constinit CuptiBuffers buffers;
constinit CuptiReader reader;
constinit Audit the_audit;
constinit Word wake{0}, stopping{0}, stopped{0};
constinit std::atomic<bool> running{false}, given_up{false};
constinit char audit_refused[256] = {};

constinit thread_local std::uint64_t pushed __attribute__((tls_model("initial-exec"))) = 0;

void announce(Word& word) {
  word.store(1, std::memory_order_release);
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}
// Whether it was announced in time.
bool wait_for(Word& word, long ns) {
  timespec const timeout{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
  if (word.load(std::memory_order_acquire) == 0) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &timeout, nullptr, 0);
  return word.load(std::memory_order_acquire) != 0;
}

// CUPTI may call from inside of any call of the program's; a handler that interrupted us and made another would wait
// for itself.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_;
};

void CUPTIAPI request(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  SignalsHeld const held;
  *buffer = buffers.give();
  *size = *buffer != nullptr ? CuptiBuffers::kBytes : 0;
  *most_records = 0;
}
void CUPTIAPI complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  SignalsHeld const held;
  if (buffers.take_back(buffer, valid) >= kWakeAt && wake.load(std::memory_order_relaxed) == 0) announce(wake);
}

class ToTrace final : public CuptiReader::Output {
 public:
  bool is_ours(std::uint64_t address) override { return serve::is_ours(address); }
  void kernel(const trace::Kernel& kernel, std::uint64_t start_ticks) override {
    recorder().kernel(kernel, std::min(start_ticks, now_ticks));
  }
  std::uint32_t name(std::uint64_t address) override { return names.find(address, recorder().names()); }

  KernelNames names;
  std::uint64_t now_ticks = 0;
};
constinit ToTrace output;

std::uint64_t cupti_now() {
  std::uint64_t ns = 0;
  return library.functions().timestamp(&ns) == CUPTI_SUCCESS ? ns : 0;
}

// Of a few tries the one that took least.
void take_clocks() {
  trace::Clock const& clock = recorder().file().clock();
  std::uint64_t narrowest = ~std::uint64_t{0}, best_ns = 0, best_ticks = 0;
  for (int i = 0; i < 3; ++i) {
    std::uint64_t const before = clock.now(), ns = cupti_now(), after = clock.now();
    if (ns == 0 || after - before >= narrowest) continue;
    narrowest = after - before;
    best_ns = ns;
    best_ticks = before + narrowest / 2;
  }
  if (best_ns != 0) reader.clock().add(best_ns, best_ticks);
  output.now_ticks = clock.now();
}

// Only of the thread that reads.
struct Rounds {
  std::uint64_t dropped_records = 0;
  CUptiResult flushed = CUPTI_SUCCESS;

  void flush(bool last) {
    CUptiResult const result = library.functions().flush_all(last ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
    if (result != CUPTI_SUCCESS) flushed = result;
    std::size_t dropped = 0;
    if (library.functions().dropped != nullptr && library.functions().dropped(nullptr, 0, &dropped) == CUPTI_SUCCESS)
      dropped_records += dropped;
  }
  void read(bool handed_over, bool last) {
    take_clocks();
    output.names.forget();
    buffers.read([](std::span<std::uint8_t> bytes) { reader.read(bytes, library.functions().next_record); });
    if (handed_over) reader.end_round(last);
  }
};

void conclude(const Rounds& rounds) {
  CuptiEnd const end{.counts = reader.counts(),
                     .verdict = the_audit.verdict(),
                     .dropped_records = rounds.dropped_records,
                     .lost_bytes = buffers.lost_bytes(),
                     .audit_refused = audit_refused,
                     .flush_failed = rounds.flushed == CUPTI_SUCCESS ? "" : library.name_of(rounds.flushed)};
  if (given_up.load(std::memory_order_acquire)) return;
  for (auto const& [key, value] : cupti_facts(end)) recorder().names().fact(key, value);
  if (audit_word(end) == "differs")
    say("tidemark", "CUPTI and the trace differ in " + std::to_string(end.verdict.unmatched()) +
                        " memory operations; the fact cupti.audit.samples names some");
}

void watch() {
  Rounds rounds;
  while (stopping.load(std::memory_order_acquire) == 0 && recording() && !program_has_left()) {
    bool const early = wait_for(wake, kPeriodNs);
    wake.store(0, std::memory_order_relaxed);
    if (stopping.load(std::memory_order_acquire) != 0) break;
    if (!early) rounds.flush(false);
    shield([&] { rounds.read(!early, false); });
  }
  // What happens from here on is told by neither side.
  detail::cupti_follows.store(false, std::memory_order_relaxed);
  detail::cupti_audits.store(false, std::memory_order_relaxed);
  if (recording()) {
    reader.audit_until(cupti_now());
    rounds.flush(true);
    shield([&] {
      rounds.read(true, true);
      conclude(rounds);
    });
  }
  announce(stopped);
}

// CUPTI's own buffers are device memory unless told otherwise, and would stand on the device's bill. Where the host's
// cannot be used (confidential computing) they stay there.
void keep_off_the_device() {
  std::uint8_t yes = 1;
  std::size_t size = sizeof yes;
  if (library.functions().set_attribute != nullptr)
    library.functions().set_attribute(CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, &size, &yes);
}

// An external id stands before the record of a call, so launches have to be recorded: those calls alone where CUPTI can
// choose (12.5), all calls where it cannot.
bool record_launches() {
  CuptiFunctions const& f = library.functions();
  if (f.enable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) != CUPTI_SUCCESS) return false;
  if (f.enable_driver_call == nullptr || f.enable_runtime_call == nullptr)
    return f.enable(CUPTI_ACTIVITY_KIND_DRIVER) == CUPTI_SUCCESS &&
           f.enable(CUPTI_ACTIVITY_KIND_RUNTIME) == CUPTI_SUCCESS;
  bool any = false;
  for (std::uint32_t const call : launching_driver_calls()) any |= f.enable_driver_call(call, 1) == CUPTI_SUCCESS;
  for (std::uint32_t const call : launching_runtime_calls()) any |= f.enable_runtime_call(call, 1) == CUPTI_SUCCESS;
  return any;
}

// What of the two can be had. False: neither.
bool enable() {
  CuptiFunctions const& f = library.functions();
  keep_off_the_device();
  if (CUptiResult const result = f.register_callbacks(request, complete); result != CUPTI_SUCCESS) {
    library.refused("cuptiActivityRegisterCallbacks", result);
    return false;
  }
  CUptiResult const memory = f.enable(CUPTI_ACTIVITY_KIND_MEMORY2);
  CUptiResult const kernels = f.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  if (memory != CUPTI_SUCCESS) snprintf(audit_refused, sizeof audit_refused, "refused: %s", library.name_of(memory));
  bool const follows = kernels == CUPTI_SUCCESS && record_launches();
  recorder().names().fact("cupti.scopes", kernels != CUPTI_SUCCESS ? "refused: " + std::string(library.name_of(kernels))
                                          : follows                ? "on"
                                                                   : "refused");
  if (memory != CUPTI_SUCCESS && kernels != CUPTI_SUCCESS) {
    library.refused("cuptiActivityEnable", memory);
    return false;
  }
  detail::cupti_follows.store(follows, std::memory_order_relaxed);
  return true;
}

bool begin() {
  if (!library.subscribe()) return false;
  double const ticks_per_ns = static_cast<double>(recorder().file().header().ticks_per_second) / 1e9;
  bool const memory =
      reader.start(output, the_audit, {.process = static_cast<std::uint32_t>(getpid()), .ticks_per_ns = ticks_per_ns});
  if (!memory || !enable()) {
    if (!memory) library.refused("no memory", CUPTI_ERROR_OUT_OF_MEMORY);
    library.unsubscribe();
    return false;
  }
  take_clocks();
  reader.audit_from(cupti_now());
  detail::cupti_audits.store(audit_refused[0] == '\0', std::memory_order_release);
  running.store(true, std::memory_order_release);
  if (start_watcher(watch)) return true;
  running.store(false, std::memory_order_release);
  detail::cupti_audits.store(false, std::memory_order_relaxed);
  detail::cupti_follows.store(false, std::memory_order_relaxed);
  library.refused("no thread", CUPTI_ERROR_UNKNOWN);
  library.unsubscribe();
  return false;
}

}  // namespace

Audit& cupti_audit() {
  return the_audit;
}

void start_cupti(CuptiUse use) {
  trace::Dictionary& names = recorder().names();
  if (use == CuptiUse::Off) return names.fact("cupti", "off");
  auto const manners = use == CuptiUse::Auto ? CuptiLibrary::Manners::Polite : CuptiLibrary::Manners::Plain;
  bool const found = library.open(manners);
  if (found) {
    names.fact("cupti.version", std::to_string(library.version()));
    names.fact("cupti.library", library.path());
  }
  bool const on = found && begin();
  names.fact("cupti", library.why());
  if (!on && use == CuptiUse::On) say("tidemark", std::string("CUPTI: ") + library.why());
  recorder().scope_changed();  // marked before there was a trace
}

void stop_cupti() {
  if (!running.exchange(false) || !recording()) return;
  stopping.store(1, std::memory_order_release);
  announce(wake);
  if (wait_for(stopped, kPatienceNs)) return;
  given_up.store(true, std::memory_order_release);
  shield([] { recorder().names().fact("cupti.audit", "incomplete: CUPTI did not answer at the program's end"); });
}

void follow_launches(LaunchScope scope) {
  std::uint64_t const id = scope.packed();
  if (id == pushed) return;
  CuptiFunctions const& f = library.functions();
  if (pushed != 0) f.pop_external(kScopeKind, nullptr);
  pushed = id != 0 && f.push_external(kScopeKind, id) == CUPTI_SUCCESS ? id : 0;
}

}  // namespace tidemark::interpose
