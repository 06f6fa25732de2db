// SPDX-License-Identifier: Apache-2.0
#include "interpose/stack/stacks.h"

#include <dlfcn.h>
#include <stddef.h>
#include <ucontext.h>
#include <unwind.h>

#include <mutex>

#include "interpose/record/thread.h"
#include "interpose/stack/tables.h"

namespace tidemark::interpose {
namespace {

constinit Stacks the_stacks;

using FindObject = int (*)(void*, dl_find_object*);
constinit std::atomic<FindObject> found_find_object{nullptr};
constinit std::atomic<bool> has_asked{false};  // where there is none, too

// Where a register of the interrupted code lies, counted from the stack pointer to which a signal handler returns.
constexpr std::uintptr_t saved_register(int number) {
  return offsetof(ucontext_t, uc_mcontext.gregs) + static_cast<std::uintptr_t>(number) * sizeof(greg_t);
}

}  // namespace

Stacks& stacks() {
  return the_stacks;
}

// Looked up, since a missing name would keep the library from being loaded at all. Older ways to ask take a lock.
void Stacks::prepare() {
  if (has_asked.load(std::memory_order_acquire)) return;
  auto* const found = reinterpret_cast<FindObject>(dlvsym(RTLD_DEFAULT, "_dl_find_object", "GLIBC_2.35"));
  found_find_object.store(found, std::memory_order_relaxed);
  has_asked.store(true, std::memory_order_release);
}

Result<void> Stacks::start(const trace::File& file, const void* own) {
  prepare();
  find_object_ = found_find_object.load(std::memory_order_relaxed);
  if (find_object_ == nullptr) return Error{Errc::Unsupported, "call stacks need glibc 2.35 or later", ""};
  dl_find_object found{};
  if (own != nullptr && find_object_(const_cast<void*>(own), &found) == 0) {
    own_begin_ = reinterpret_cast<std::uintptr_t>(found.dlfo_map_start);
    own_end_ = reinterpret_cast<std::uintptr_t>(found.dlfo_map_end);
  }
  file_ = &file;
  if (!rules_.start()) return Error{Errc::OutOfMemory, "no memory for call stacks", ""};
  on_.store(true, std::memory_order_release);
  return {};
}

void Stacks::forget() {
  if (!on()) return;
  std::uint64_t const generation = generation_.fetch_add(1, std::memory_order_acq_rel) + 1;
  if ((generation & Rules::kGenerations) != 0) return;
  std::scoped_lock const guard(learning_);
  rules_.clear();
}

// Once per return address and generation.
Rule Stacks::learn(std::uint64_t address, std::uint64_t generation, trace::Dictionary& names) {
  dl_find_object found{};
  // Code that was made at run time is not kept: whoever made it may make other code there without telling anybody.
  if (find_object_(reinterpret_cast<void*>(address - 1), &found) != 0) return Rule::Unknown;
  Rule rule = rule_in_tables(static_cast<const std::byte*>(found.dlfo_eh_frame), address - 1);
  if (address - own_begin_ < own_end_ - own_begin_) rule = rule.of_our_own();
  std::scoped_lock const guard(learning_);
  if (!rule.ours()) {
    objects_.note(found, names, file_->clock().now());
    replaced_.store(objects_.replaced(), std::memory_order_relaxed);
  }
  rules_.insert(address, generation, rule);
  return rule;
}

// To the interrupted code's registers.
Stacks::Step Stacks::step_over_signal(Registers& at, Window& window) {
  std::uintptr_t const context = at.rsp;
  if (!window.read(context + saved_register(REG_RIP), at.pc) ||
      !window.read(context + saved_register(REG_RSP), at.rsp) ||
      !window.read(context + saved_register(REG_RBP), at.rbp))
    return Step::Broken;
  ++at.pc;                  // so that, as everywhere, the byte before it is in the instruction that is meant
  window.begin_at(at.rsp);  // the handler may have had a stack of its own
  return Step::Taken;
}

// To the caller's registers.
inline Stacks::Step Stacks::step(Rule rule, Registers& at, Window& window) {
  if (rule.kind() != Rule::Frame) [[unlikely]] {
    switch (rule.kind()) {
      case Rule::Outermost: return Step::Done;
      case Rule::Complex: return Step::Complex;
      case Rule::Signal: return step_over_signal(at, window);
      default: return Step::Broken;
    }
  }
  auto const offset = static_cast<std::uintptr_t>(rule.cfa_offset());
  auto const rbp_offset = static_cast<std::uintptr_t>(rule.rbp_offset());
  std::uintptr_t cfa = (rule.cfa() == Rule::FromRsp ? at.rsp : at.rbp) + offset;
  if (rule.cfa() == Rule::AtRbp && !window.read(cfa, cfa)) return Step::Broken;
  // A stack only grows: without this rule, wrong tables could lead round in circles.
  if (cfa <= at.rsp || !window.read(cfa - sizeof at.pc, at.pc)) return Step::Broken;
  std::uintptr_t const saved = (rule.rbp() == Rule::SavedFromCfa ? cfa : at.rbp) + rbp_offset;
  if (rule.rbp() != Rule::Kept && !window.read(saved, at.rbp)) return Step::Broken;
  at.rsp = cfa;
  return at.pc == 0 ? Step::Done : Step::Taken;
}

bool Stacks::walk(Registers at, Walk& out, trace::Dictionary& names) {
  std::uint64_t const generation = generation_.load(std::memory_order_acquire);
  Window window = this_thread().window;
  window.begin_at(at.rsp);
  Step taken = Step::Taken;
  while (taken == Step::Taken) {
    Rule const rule = rule_at(at.pc, generation, names);
    if (!rule.ours() && !out.add(at.pc)) break;
    taken = step(rule, at, window);
  }
  if (taken == Step::Broken) out.end = trace::StackEnd::NoTable;
  this_thread().window = window;
  return taken != Step::Complex;
}

// By the compiler's own unwinder, which follows all registers and keeps nothing: some microseconds.
void Stacks::walk_by_compiler(Walk& out, trace::Dictionary& names) {
  struct State {
    Stacks& self;
    Walk& out;
    trace::Dictionary& names;
    std::uint64_t generation;
  } state{*this, out, names, generation_.load(std::memory_order_acquire)};
  out.count = 0;
  out.end = trace::StackEnd::Whole;
  auto const visit = [](_Unwind_Context* context, void* argument) -> _Unwind_Reason_Code {
    auto& s = *static_cast<State*>(argument);
    int interrupted = 0;
    std::uint64_t const address = _Unwind_GetIPInfo(context, &interrupted) + (interrupted != 0 ? 1 : 0);
    if (address <= 1) return _URC_END_OF_STACK;
    Rule const rule = s.self.rule_at(address, s.generation, s.names);
    return rule.ours() || s.out.add(address) ? _URC_NO_REASON : _URC_END_OF_STACK;
  };
  _Unwind_Backtrace(visit, &state);
}

__attribute__((noinline)) std::uint32_t Stacks::here(trace::Dictionary& names) {
  Registers at;
  // One byte behind the first instruction, as a return address would be.
  asm volatile("leaq 1f+1(%%rip), %0\n1:\tmovq %%rsp, %1\n\tmovq %%rbp, %2"
               : "=&r"(at.pc), "=&r"(at.rsp), "=&r"(at.rbp));
  Walk found;
  if (!walk(at, found, names)) walk_by_compiler(found, names);
  return names.stack(
      {.frames = {found.frames, found.count}, .end = found.end, .replaced = replaced_.load(std::memory_order_relaxed)});
}

}  // namespace tidemark::interpose
