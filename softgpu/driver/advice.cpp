// SPDX-License-Identifier: Apache-2.0
#include "softgpu/driver/advice.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_map>

namespace tidemark::softgpu {
namespace {

constexpr std::uintptr_t kPage = 4096;

// Each key begins a run of pages that lasts to the next key; the first is the block's own beginning.
using Runs = std::map<std::uintptr_t, PageAdvice>;

std::unordered_map<std::uint64_t, Runs>& all_runs() {  // by block id
  static auto& map = *new std::unordered_map<std::uint64_t, Runs>;
  return map;
}

// A run that begins at this address, split off if need be.
Runs::iterator run_from(Runs& runs, std::uintptr_t at) {
  auto const next = runs.lower_bound(at);
  if (next != runs.end() && next->first == at) return next;
  return runs.emplace_hint(next, at, std::prev(next)->second);
}

template <class Change>
void change_pages(const Block& block, CUdeviceptr at, std::size_t bytes, Change change) {
  Runs& runs = all_runs()[block.id];
  if (runs.empty()) runs.emplace(block.address, PageAdvice{});
  std::uintptr_t const begin = std::max<std::uintptr_t>(block.address, at / kPage * kPage);
  auto const last = run_from(runs, (at + bytes + kPage - 1) / kPage * kPage);
  for (auto run = run_from(runs, begin); run != last; ++run) change(run->second);
}

bool same(const CUmemLocation& a, const CUmemLocation& b) {
  return a.type == b.type && a.id == b.id;
}

int device_of(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : CU_DEVICE_CPU;
}

}  // namespace

void note_advice(const Block& block, CUdeviceptr at, std::size_t bytes, CUmem_advise advice,
                 const CUmemLocation& where) {
  change_pages(block, at, bytes, [&](PageAdvice& page) {
    switch (advice) {
      case CU_MEM_ADVISE_SET_READ_MOSTLY: page.read_mostly = true; break;
      case CU_MEM_ADVISE_UNSET_READ_MOSTLY: page.read_mostly = false; break;
      case CU_MEM_ADVISE_SET_PREFERRED_LOCATION: page.preferred = where; break;
      case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION: page.preferred = {}; break;
      case CU_MEM_ADVISE_SET_ACCESSED_BY: page.accessed_by.insert(device_of(where)); break;
      case CU_MEM_ADVISE_UNSET_ACCESSED_BY: page.accessed_by.erase(device_of(where)); break;
      default: break;
    }
  });
}

void note_prefetch(const Block& block, CUdeviceptr at, std::size_t bytes, const CUmemLocation& where) {
  change_pages(block, at, bytes, [&](PageAdvice& page) { page.prefetched = where; });
}

void forget_advice(const Block& block) {
  all_runs().erase(block.id);
}

PageAdvice common_advice(const Block& block, CUdeviceptr at, std::size_t bytes) {
  auto const found = all_runs().find(block.id);
  if (found == all_runs().end()) return {};
  Runs const& runs = found->second;
  auto run = std::prev(runs.upper_bound(at));
  PageAdvice common = run->second;
  for (++run; run != runs.end() && run->first < at + bytes; ++run) {
    PageAdvice const& page = run->second;
    common.read_mostly = common.read_mostly && page.read_mostly;
    if (!same(common.preferred, page.preferred)) common.preferred = {};
    if (!same(common.prefetched, page.prefetched)) common.prefetched = {};
    std::erase_if(common.accessed_by, [&](int device) { return !page.accessed_by.contains(device); });
  }
  return common;
}

}  // namespace tidemark::softgpu
