// SPDX-License-Identifier: Apache-2.0
#include "interpose/watch/sampler.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "base/quietly.h"
#include "interpose/process/process.h"
#include "interpose/record/devices.h"
#include "interpose/record/recorder.h"
#include "interpose/watch/nvml.h"

namespace tidemark::interpose {
namespace {

constexpr long kPeriodNs = 100'000'000;

constinit std::atomic<bool> begun{false};
constinit std::atomic<std::uint32_t> stopping{0}, stopped{0};
constinit pthread_t thread{};
constinit sigset_t programs_mask{};

void wait_for(std::atomic<std::uint32_t>& word, long ns) {
  timespec const timeout{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
  if (word.load(std::memory_order_acquire) == 0) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &timeout, nullptr, 0);
}
void announce(std::atomic<std::uint32_t>& word) {
  word.store(1, std::memory_order_release);
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

struct Seen {
  std::uint64_t used_bytes = 0, process_bytes = 0;
  bool context_known = false;
};

// What this process holds beside its blocks: its context. Told once, at a moment in which the blocks did not change.
void tell_context(std::uint8_t device, Seen& seen, std::uint64_t reserved_before, const Nvml::Use& use) {
  std::uint64_t const reserved = devices().reserved_bytes(device);
  if (seen.context_known || use.process_bytes < reserved || reserved != reserved_before) return;
  seen.context_known = true;
  recorder().names().fact("device." + std::to_string(device) + ".context_bytes",
                          std::to_string(use.process_bytes - reserved));
}

constinit std::array<Seen, Devices::kMost> before{};

void sample() {
  for (std::size_t i = 0; i < Devices::kMost; ++i) {
    auto const device = static_cast<std::uint8_t>(i);
    if (!devices().known(device)) continue;
    std::uint64_t const reserved = devices().reserved_bytes(device);
    auto const use = nvml().use(device);
    if (use) tell_context(device, before[i], reserved, *use);
    // A sample that says nothing new is not written: days of idling cost nothing.
    if (!use || (before[i].used_bytes == use->used_bytes && before[i].process_bytes == use->process_bytes)) continue;
    before[i].used_bytes = use->used_bytes;
    before[i].process_bytes = use->process_bytes;
    recorder().device_use({.device = device,
                           .source = trace::DeviceUse::Nvml,
                           .used_bytes = use->used_bytes,
                           .total_bytes = use->total_bytes,
                           .process_bytes = use->process_bytes});
  }
}

// A main thread that has ended stays among the process's threads until the last of them ends: no reason to keep that
// last one. Asked without opening a file: the program may be counting on the lowest free number at this very moment.
bool is_last_thread() {
  struct stat threads {};
  if (stat("/proc/self/task", &threads) != 0 || threads.st_nlink > 4) return false;  // "." and ".." count
  char main[64], nowhere[1];
  snprintf(main, sizeof main, "/proc/self/task/%d/exe", getpid());
  return readlink(main, nowhere, sizeof nowhere) < 0 && errno == ENOENT;
}

void* run(void*) {
  bool last = false;
  while (stopping.load(std::memory_order_acquire) == 0 && recording() && !last) {
    shield([] { sample(); });
    wait_for(stopping, kPeriodNs);
    last = is_last_thread();
  }
  announce(stopped);
  // As the last thread it ends the process, and the program's own handlers run here.
  if (last) pthread_sigmask(SIG_SETMASK, &programs_mask, nullptr);
  return nullptr;
}

}  // namespace

void start_sampler() {
  if (begun.exchange(true)) return;
  // What NVML opens, it opens here, in the program's own call, and not behind its back.
  Quietly const quietly;
  bool const open = nvml().open();
  recorder().names().fact("nvml", nvml().why());
  if (!open) return announce(stopped);
  sample();
  // The new thread inherits the mask: no signal of the program's is ever handled on it.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &programs_mask);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (pthread_create(&thread, &attributes, run, nullptr) != 0) announce(stopped);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &programs_mask, nullptr);
}

void stop_sampler() {
  if (!begun.load() || !recording()) return;
  announce(stopping);
  wait_for(stopped, kPeriodNs);
}

}  // namespace tidemark::interpose
