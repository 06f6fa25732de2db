// SPDX-License-Identifier: Apache-2.0
// CUPTI's buffers may hold any bytes: the reader ends, keeps its sums, and never looks where a record points.
//
// An input is 16 bytes that say how far the iterator goes from record to record (0: as far as the newest record of that
// kind is long; 255: it gives up), and a buffer.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "interpose/watch/cupti_reader.h"
#include "interpose/watch/cupti_report.h"

using namespace tidemark::interpose;
namespace trace = tidemark::trace;

namespace {

struct Output final : CuptiReader::Output {
  void kernel(const trace::Kernel& kernel, std::uint64_t) override {
    if (kernel.duration_ns > trace::Kernel::kLongest || kernel.tag != static_cast<std::uint64_t>(trace::Kernel::kTag))
      std::abort();
    ++kernels;
  }
  std::uint32_t name(std::uint64_t address) override { return static_cast<std::uint32_t>(address); }
  std::uint64_t kernels = 0;
};

std::size_t stride(const std::uint8_t* record, std::size_t left) {
  std::uint32_t kind = 0;
  std::memcpy(&kind, record, std::min(left, sizeof kind));
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_MEMORY2: return sizeof(CUpti_ActivityMemory4);
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: return sizeof(CUpti_ActivityExternalCorrelation);
    default: return sizeof(CUpti_ActivityAPI);
  }
}

// As the process has it: one for all inputs.
struct Reading {
  Output output;
  Audit audit;
  CuptiReader reader;
  Reading() {
    if (!reader.start(output, audit, {.process = 77, .ticks_per_ns = 2.5})) std::abort();
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Reading& r = *new Reading;
  constexpr std::size_t kStrides = 16;
  if (size < kStrides) return 0;
  std::span const strides(data, kStrides);
  std::vector<std::uint8_t> buffer(data + kStrides, data + size);
  if (!buffer.empty()) r.reader.clock().add(buffer.size() * 1000 + buffer[0], buffer.size() * 2500 + buffer.back());
  std::size_t asked = 0;
  auto const next = [&](std::uint8_t* begin, std::size_t bytes, CUpti_Activity** record) {
    std::uint8_t const step = strides[asked++ % kStrides];
    if (step == 255) return CUPTI_ERROR_INVALID_KIND;
    std::size_t at = 0;
    if (*record != nullptr) {
      auto const here = static_cast<std::size_t>(reinterpret_cast<std::uint8_t*>(*record) - begin);
      at = here + (step == 0 ? stride(begin + here, bytes - here) : step);
    }
    if (at >= bytes && step < 200) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = reinterpret_cast<CUpti_Activity*>(begin + at);
    return CUPTI_SUCCESS;
  };
  r.reader.read(buffer, next);
  r.reader.end_round(buffer.size() % 2 == 1);
  if (r.output.kernels != r.reader.counts().kernels) std::abort();

  Audit::Verdict const verdict = r.audit.verdict();
  for (Audit::Row const& row : verdict.rows)
    if (row.allocations < row.agreeing) std::abort();
  if (cupti_facts({.counts = r.reader.counts(), .verdict = verdict}).empty()) std::abort();
  return 0;
}
