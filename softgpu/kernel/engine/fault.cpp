// SPDX-License-Identifier: Apache-2.0
#include "softgpu/kernel/engine/fault.h"

#include <signal.h>
#include <ucontext.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "softgpu/kernel/engine/engine.h"

namespace tidemark::softgpu {
namespace {

constexpr std::array kSignals{SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr std::size_t kHandlerStackBytes = 64 << 10;
std::array<struct sigaction, kSignals.size()> g_previous;

// Written by the handler, read by land() on the same thread right after it.
struct Fault {
  int signal;
  const void* address;
};
thread_local Fault t_fault{0, reinterpret_cast<const void*>(1)};  // initialised: .tdata, not .tbss

// Where the thread continues after the handler: ordinary code on a stack of its own, so the launch can be ended as
// from anywhere else.
[[noreturn]] void land() {
  Engine& engine = *thread_state()->engine;
  char text[160];
  SoftgpuKernelStatus status = SOFTGPU_KERNEL_TRAP;
  if (t_fault.signal == SIGFPE) {
    std::snprintf(text, sizeof text, "integer division by zero, whose result is undefined in CUDA");
  } else if (t_fault.signal == SIGILL) {
    std::snprintf(text, sizeof text, "an illegal instruction or __builtin_trap()");
  } else if (engine.in_stack_guard(t_fault.address)) {
    status = SOFTGPU_KERNEL_STACK_OVERFLOW;
    std::snprintf(text, sizeof text, "used more than its stack of %zu KiB (SOFTGPU_STACK sets it, in KiB)",
                  engine.stack_bytes() >> 10);
  } else {
    status = SOFTGPU_KERNEL_ILLEGAL_ADDRESS;
    std::snprintf(text, sizeof text, "an illegal memory access at %p", t_fault.address);
  }
  engine.fail(status, text);
}

void continue_in_land(ucontext_t& context, Engine& engine) {
  auto const top = reinterpret_cast<std::uintptr_t>(engine.landing_top());
  auto const entry = reinterpret_cast<std::uintptr_t>(&land);
#if defined(__x86_64__)
  context.uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(top - 8);  // as after a call
  context.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(entry);
#elif defined(__aarch64__)
  context.uc_mcontext.sp = top;
  context.uc_mcontext.pc = entry;
#endif
}

void pass_on(const struct sigaction& previous, int signal, siginfo_t* info, void* context) {
  if (previous.sa_flags & SA_SIGINFO) return previous.sa_sigaction(signal, info, context);
  if (previous.sa_handler == SIG_IGN) return;
  if (previous.sa_handler != SIG_DFL) return previous.sa_handler(signal);
  // Back to the default; the instruction faults again (or the sent signal comes again) and has its usual end.
  sigaction(signal, &previous, nullptr);
  if (info->si_code <= 0) raise(signal);
}

void on_fault(int signal, siginfo_t* info, void* context) {
  Engine* const engine = Engine::existing();
  bool const from_an_instruction = info->si_code > 0;
  if (engine && engine->running() && from_an_instruction) {
    t_fault = {signal, info->si_addr};
    return continue_in_land(*static_cast<ucontext_t*>(context), *engine);
  }
  for (std::size_t i = 0; i < kSignals.size(); ++i)
    if (kSignals[i] == signal) return pass_on(g_previous[i], signal, info, context);
}

void install() {
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  // On the alternate stack: after an overflow there is no other.
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &g_previous[i]);
}

}  // namespace

void meet_faults(Engine& engine) {
  if (kSanitized) return;
  static std::once_flag once;
  std::call_once(once, install);
  stack_t present{};
  if (sigaltstack(nullptr, &present) != 0 || !(present.ss_flags & SS_DISABLE)) return;  // the host has its own
  stack_t own{};
  own.ss_sp = std::malloc(kHandlerStackBytes);
  own.ss_size = kHandlerStackBytes;
  if (own.ss_sp && sigaltstack(&own, nullptr) == 0) engine.set_signal_stack(own.ss_sp);
}

void leave_faults(Engine& engine) {
  void* const own = engine.signal_stack();
  stack_t present{};
  if (!own || sigaltstack(nullptr, &present) != 0) return;
  if (present.ss_sp == own) {
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
  }
  std::free(own);
}

}  // namespace tidemark::softgpu
