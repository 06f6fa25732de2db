// SPDX-License-Identifier: Apache-2.0
#include "interpose/watch/cupti_reader.h"

#include <algorithm>

namespace tidemark::interpose {
namespace {

constexpr std::uint32_t kDriverCalls[] = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernelMultiDevice,
    CUPTI_DRIVER_TRACE_CBID_cuLaunch,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchGrid,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchGridAsync,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
};
constexpr std::uint32_t kRuntimeCalls[] = {
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_ptsz_v9000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernelMultiDevice_v9000,
    CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000,
    CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_ptsz_v13000,
    CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000,
    CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_ptsz_v10000,
};

bool launches_graph(const CallRecord& r) {
  if (r.kind == CUPTI_ACTIVITY_KIND_DRIVER)
    return r.call == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch || r.call == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz;
  return r.call == CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000 ||
         r.call == CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_ptsz_v10000;
}

}  // namespace

std::span<const std::uint32_t> launching_driver_calls() {
  return kDriverCalls;
}
std::span<const std::uint32_t> launching_runtime_calls() {
  return kRuntimeCalls;
}

bool CuptiReader::start(Output& output, Audit& audit, const Begin& begin) {
  output_ = &output;
  audit_ = &audit;
  begin_ = begin;
  clock_.start(begin.ticks_per_ns);
  return launches_.start();
}

void CuptiReader::on(const MemoryRecord& r) {
  bool const allocation = r.operation == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  // Everybody's records carry our process: one that does not was laid out by other rules.
  if (r.process != begin_.process || (!allocation && r.operation != CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE)) {
    ++counts_.odd;
    return;
  }
  if (output_->is_ours(r.address)) return;
  if (r.time_ns >= from_ns_.load(std::memory_order_relaxed) && r.time_ns <= until_ns_.load(std::memory_order_relaxed))
    audit_->told(r);
}

void CuptiReader::on(const CallRecord& r) {
  launches_.called(r.correlation, launches_graph(r));
}

void CuptiReader::on(const ExternalRecord& r) {
  if (r.external_kind == kScopeKind) launches_.scoped(r.correlation, LaunchScope::unpacked(r.id));
}

void CuptiReader::on(const KernelRecord& r) {
  // CUPTI had no room for its times, or the flush at the end did not wait for it.
  if (r.start_ns == 0 || r.end_ns < r.start_ns) {
    ++counts_.unfinished;
    return;
  }
  launches_.ran({.start_ns = r.start_ns,
                 .end_ns = r.end_ns,
                 .device = r.device,
                 .stream = r.stream,
                 .correlation = r.correlation,
                 .name = output_->name(r.name)},
                [this](const KernelRun& run, const LaunchScope* scope) { write(run, scope); });
}

void CuptiReader::write(const KernelRun& run, const LaunchScope* scope) {
  ++counts_.kernels;
  trace::Kernel kernel{.device = run.device,
                       .unscoped = scope == nullptr ? 1u : 0u,
                       .name = run.name,
                       .duration_ns = std::min(run.end_ns - run.start_ns, trace::Kernel::kLongest),
                       .stream = run.stream};
  if (scope != nullptr) {
    kernel.path = scope->path;
    kernel.phase = static_cast<std::uint64_t>(scope->phase);
    kernel.step = scope->step;
  } else {
    ++counts_.unscoped;
  }
  output_->kernel(kernel, clock_.ticks(run.start_ns));
}

void CuptiReader::end_round(bool last) {
  launches_.end_round(last, [this](const KernelRun& run, const LaunchScope* scope) { write(run, scope); });
  audit_->forgive_graphs(launches_);
}

}  // namespace tidemark::interpose
