// SPDX-License-Identifier: Apache-2.0
// The tables of everything that is loaded into this program, read by us and by elfutils: the rules must be the same.
#include "interpose/stack/tables.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>

namespace tidemark::interpose {
namespace {

constexpr int kRbp = 6, kRsp = 7, kReturn = 16;

struct Ops {
  Dwarf_Op memory[3];
  Dwarf_Op* at = nullptr;
  std::size_t count = 0;
};

bool is_register(const Dwarf_Op& op, int* which, std::int64_t* offset) {
  if (op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31) {
    *which = op.atom - DW_OP_breg0;
    *offset = static_cast<std::int64_t>(op.number);
    return true;
  }
  if (op.atom != DW_OP_bregx) return false;
  *which = static_cast<int>(op.number);
  *offset = static_cast<std::int64_t>(op.number2);
  return true;
}

// elfutils says it as an expression.
bool from_cfa(const Ops& ops, std::int64_t* offset) {
  *offset = 0;
  if (ops.count == 0 || ops.at[0].atom != DW_OP_call_frame_cfa || ops.count > 2) return false;
  if (ops.count == 1) return true;
  *offset = static_cast<std::int64_t>(ops.at[1].number);
  return ops.at[1].atom == DW_OP_plus_uconst;
}

Rule expected(Dwarf_Frame* frame) {
  bool signal = false;
  dwarf_frame_info(frame, nullptr, nullptr, &signal);
  if (signal) return Rule::Signal;
  Ops cfa, rbp, returns;
  dwarf_frame_cfa(frame, &cfa.at, &cfa.count);
  dwarf_frame_register(frame, kRbp, rbp.memory, &rbp.at, &rbp.count);
  dwarf_frame_register(frame, kReturn, returns.memory, &returns.at, &returns.count);
  std::int64_t offset = 0;
  if (returns.count == 0 && returns.at == returns.memory) return Rule::Outermost;
  Rule const complex = Rule::Complex;
  if (!from_cfa(returns, &offset) || offset != -8) return complex;

  Rule::Parts rule{.kind = Rule::Frame};
  int which = -1;
  if (cfa.count == 0 || !is_register(cfa.at[0], &which, &offset) || (which != kRbp && which != kRsp)) return complex;
  rule.cfa_offset = offset;
  rule.cfa = which == kRbp ? Rule::FromRbp : Rule::FromRsp;
  if (cfa.count == 2 && which == kRbp && cfa.at[1].atom == DW_OP_deref)
    rule.cfa = Rule::AtRbp;
  else if (cfa.count != 1)
    return complex;

  if (rbp.count == 0) {
    rule.rbp = Rule::Kept;  // the same, or nobody's
  } else if (from_cfa(rbp, &offset)) {
    rule.rbp = Rule::SavedFromCfa;
    rule.rbp_offset = offset;
  } else if (rbp.count == 2 && is_register(rbp.at[1], &which, &offset) &&
             which == kRbp) {  // the CFA is pushed before it
    rule.rbp = Rule::SavedFromRbp;
    rule.rbp_offset = offset;
  } else {
    return complex;
  }
  return rule;
}

std::string text(const Rule& r) {
  return "kind " + std::to_string(r.kind()) + " cfa " + std::to_string(r.cfa()) + " " + std::to_string(r.cfa_offset()) +
         " rbp " + std::to_string(r.rbp()) + " " + std::to_string(r.rbp_offset());
}

struct Counts {
  std::size_t modules = 0, rules = 0, complex = 0, wrong = 0, absent = 0;
};

// Every seventh byte of an object's code, at most so many.
void compare(Dwfl_Module* module, Counts& counts) {
  Dwarf_Addr begin = 0, end = 0, bias = 0;
  const char* const name = dwfl_module_info(module, nullptr, &begin, &end, nullptr, nullptr, nullptr, nullptr);
  dl_find_object found{};
  if (_dl_find_object(reinterpret_cast<void*>(begin), &found) != 0) return;
  Dwarf_CFI* const cfi = dwfl_module_eh_cfi(module, &bias);
  if (cfi == nullptr) return;
  ++counts.modules;
  Dwarf_Addr const stride = std::max<Dwarf_Addr>(7, (end - begin) / 300'000 | 1);
  for (Dwarf_Addr at = begin; at < end; at += stride) {
    Rule const ours = rule_in_tables(static_cast<const std::byte*>(found.dlfo_eh_frame), at);
    Dwarf_Frame* frame = nullptr;
    if (dwarf_cfi_addrframe(cfi, at - bias, &frame) != 0) {
      counts.absent += ours.kind() == Rule::Unknown ? 1 : 0;
      EXPECT_EQ(ours.kind(), Rule::Unknown) << name << " at " << std::hex << at - bias;
      continue;
    }
    Rule const theirs = expected(frame);
    free(frame);
    ++counts.rules;
    counts.complex += ours.kind() == Rule::Complex ? 1 : 0;
    if (ours == theirs) continue;
    if (++counts.wrong < 20)
      ADD_FAILURE() << name << " at " << std::hex << at - bias << ": " << text(ours) << ", elfutils says "
                    << text(theirs);
  }
}

TEST(Tables, SayWhatElfutilsSaysOfEverythingThatIsLoaded) {
  // Assembly with tables written by hand, and code that aligns its stack.
  dlopen("libopenblas.so.0", RTLD_NOW);
  dlopen("libgmp.so.10", RTLD_NOW);
  Dwfl_Callbacks const callbacks{.find_elf = dwfl_linux_proc_find_elf, .find_debuginfo = dwfl_standard_find_debuginfo};
  std::unique_ptr<Dwfl, void (*)(Dwfl*)> const dwfl(dwfl_begin(&callbacks), dwfl_end);
  ASSERT_EQ(dwfl_linux_proc_report(dwfl.get(), getpid()), 0);
  dwfl_report_end(dwfl.get(), nullptr, nullptr);
  Counts counts;
  dwfl_getmodules(
      dwfl.get(),
      [](Dwfl_Module* module, void**, const char*, Dwarf_Addr, void* argument) -> int {
        compare(module, *static_cast<Counts*>(argument));
        return DWARF_CB_OK;
      },
      &counts, 0);
  EXPECT_GT(counts.modules, 5u);
  EXPECT_GT(counts.rules, 100'000u);
  EXPECT_EQ(counts.wrong, 0u);
  // What has to be left to the slow way is rare.
  EXPECT_LT(counts.complex, counts.rules / 100);
  std::printf("%zu objects, %zu rules, %zu complex\n", counts.modules, counts.rules, counts.complex);
}

TEST(Tables, CodeWithoutATableIsUnknown) {
  EXPECT_EQ(rule_in_tables(nullptr, 0x1000).kind(), Rule::Unknown);
}

}  // namespace
}  // namespace tidemark::interpose
