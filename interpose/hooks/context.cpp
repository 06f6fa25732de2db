// SPDX-License-Identifier: Apache-2.0
// Contexts. A context takes memory of its own, and its end ends its blocks.
#include <array>
#include <atomic>

#include "interpose/hooks/graph_memory.h"
#include "interpose/hooks/hook.h"
#include "interpose/real/primary.h"
#include "interpose/record/contexts.h"
#include "interpose/serve/cache.h"

namespace tidemark::interpose {
namespace {

using PerDevice = std::array<std::atomic<std::uint64_t>, Devices::kMost>;
constinit PerDevice primary_overhead{};
// What a context took that was made beside others. Of a device's first one nobody can tell: there was nobody to ask
// before it; it is taken to be like those.
constinit PerDevice usual_overhead{};

std::uint8_t number(CUdevice device) {
  return static_cast<std::uint8_t>(device);
}
std::uint64_t number(const void* handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}

std::uint64_t now() {
  return recorder().file().clock().now_ordered();
}

// real() may bring a device's primary context to life.
std::uint64_t overhead_of_new(std::uint8_t device) {
  bool const first = !devices().known(device);
  if (first) devices().meet(device);
  std::uint64_t const bytes = first ? 0 : devices().end_overhead(device);
  if (bytes != 0) usual_overhead[device % Devices::kMost].store(bytes, std::memory_order_relaxed);
  return bytes;
}

template <class Real>
CUresult begin_primary(CUdevice device, Real real) {
  if (!ready()) return real();
  bool fresh = false;
  shield([&] {
    fresh = !primary_is_active(device);
    if (fresh) devices().begin_overhead(number(device));
  });
  CUresult const result = with_relief(device, real);
  if (result == CUDA_SUCCESS && fresh)
    shield([&] { primary_overhead[number(device) % Devices::kMost].store(overhead_of_new(number(device))); });
  return result;
}

// The device's next block begins anew, or, where other contexts live on, what the ended one took is given back.
void count_out(std::uint8_t device, std::uint64_t overhead_bytes) {
  std::uint64_t const usual = usual_overhead[device % Devices::kMost].load(std::memory_order_relaxed);
  if (contexts().count(device) == 0 && !primary_is_active(CUdevice{device}))
    devices().forget(device);
  else
    devices().give_back(device, overhead_bytes != 0 ? overhead_bytes : usual);
  sample_graph_memory();
  // Its end waited for work, on whatever device.
  if (!devices().sample_moved()) devices().sample(device);
}

// real() may end a device's primary context.
template <class Real>
CUresult end_primary(CUdevice device, Real real) {
  if (!recording() && !serve::has_caches()) return real();
  bool active = false;
  std::uint64_t ticks = 0;
  CUcontext primary = nullptr;
  shield([&] {
    active = primary_is_active(device);
    if (active && serve::has_caches()) primary = primary_of(device);
    ticks = now();
  });
  CUresult const result = real();
  if (result != CUDA_SUCCESS || !active) return result;
  shield([&] {
    if (primary_is_active(device)) return;
    if (primary != nullptr) serve::context_ended(number(primary));
    if (!recording()) return;
    recorder().context_ended(ticks, [&](const Owned& block) {
      return block.context != 0 && block.device == number(device) && !contexts().is_made(block.context);
    });
    count_out(number(device), primary_overhead[number(device) % Devices::kMost].exchange(0));
  });
  return result;
}

// real() makes a context of the program's own, and makes it current.
template <class Real>
CUresult make(CUcontext* out, CUdevice device, Real real) {
  if (ready()) shield([&] { devices().begin_overhead(number(device)); });
  CUresult const result = with_relief(device, real);
  serve::leave_here();
  if (result != CUDA_SUCCESS || !ready()) return result;
  shield([&] {
    MadeContext const made{.overhead_bytes = overhead_of_new(number(device)), .device = number(device)};
    if (!contexts().made(number(*out), made)) recorder().count_loss(trace::Loss::Failed);
  });
  return result;
}

bool is_gone(CUcontext context) {
  unsigned int version = 0;
  return call(&Driver::cuCtxGetApiVersion, context, &version) != CUDA_SUCCESS;
}

// real() ends a context, or, counting, lets go of it.
template <class Real>
CUresult end(CUcontext context, bool counts, Real real) {
  if (!recording() && !serve::has_caches()) return real();
  std::uint64_t ticks = 0;
  shield([&] { ticks = now(); });
  CUresult const result = real();
  serve::leave_here();  // where it was the current one, another is now
  if (result != CUDA_SUCCESS || (counts && !is_gone(context))) return result;
  shield([&] {
    if (serve::has_caches()) serve::context_ended(number(context));
    if (!recording()) return;
    recorder().context_ended(ticks, [&](const Owned& block) { return block.context == number(context); });
    if (auto const made = contexts().ended(number(context))) count_out(made->device, made->overhead_bytes);
  });
  return result;
}

}  // namespace
}  // namespace tidemark::interpose

using namespace tidemark::interpose;

TIDEMARK_HOOK(cuDevicePrimaryCtxRetain)(CUcontext* out, CUdevice device) {
  return begin_primary(device, [&] { return call(&Driver::cuDevicePrimaryCtxRetain, out, device); });
}
TIDEMARK_HOOK(cuDevicePrimaryCtxRelease)(CUdevice device) {
  return end_primary(device, [&] { return call(&Driver::cuDevicePrimaryCtxRelease, device); });
}
TIDEMARK_HOOK(cuDevicePrimaryCtxRelease_v2)(CUdevice device) {
  return end_primary(device, [&] { return call(&Driver::cuDevicePrimaryCtxRelease_v2, device); });
}
TIDEMARK_HOOK(cuDevicePrimaryCtxReset)(CUdevice device) {
  return end_primary(device, [&] { return call(&Driver::cuDevicePrimaryCtxReset, device); });
}
TIDEMARK_HOOK(cuDevicePrimaryCtxReset_v2)(CUdevice device) {
  return end_primary(device, [&] { return call(&Driver::cuDevicePrimaryCtxReset_v2, device); });
}

TIDEMARK_HOOK(cuGreenCtxCreate)(CUgreenCtx* out, CUdevResourceDesc resources, CUdevice device, unsigned int flags) {
  CUresult const result =
      begin_primary(device, [&] { return call(&Driver::cuGreenCtxCreate, out, resources, device, flags); });
  if (result == CUDA_SUCCESS && ready())
    shield([&] {
      if (!green_contexts().made(number(*out), {.device = number(device)}))
        recorder().count_loss(tidemark::trace::Loss::Failed);
    });
  return result;
}
// It lets go of the primary context, whose memory its own was.
TIDEMARK_HOOK(cuGreenCtxDestroy)(CUgreenCtx context) {
  std::optional<MadeContext> made;
  shield([&] { made = green_contexts().ended(number(context)); });
  auto const real = [&] { return call(&Driver::cuGreenCtxDestroy, context); };
  CUresult const result = made ? end_primary(CUdevice{made->device}, real) : real();
  if (result != CUDA_SUCCESS && made) shield([&] { green_contexts().made(number(context), *made); });
  return result;
}

TIDEMARK_HOOK(cuCtxCreate)(CUcontext* out, unsigned int flags, CUdevice device) {
  return make(out, device, [&] { return call(&Driver::cuCtxCreate, out, flags, device); });
}
TIDEMARK_HOOK(cuCtxCreate_v2)(CUcontext* out, unsigned int flags, CUdevice device) {
  return make(out, device, [&] { return call(&Driver::cuCtxCreate_v2, out, flags, device); });
}
TIDEMARK_HOOK(cuCtxCreate_v3)
(CUcontext* out, CUexecAffinityParam* affinity, int count, unsigned int flags, CUdevice device) {
  return make(out, device, [&] { return call(&Driver::cuCtxCreate_v3, out, affinity, count, flags, device); });
}
TIDEMARK_HOOK(cuCtxCreate_v4)(CUcontext* out, CUctxCreateParams* params, unsigned int flags, CUdevice device) {
  return make(out, device, [&] { return call(&Driver::cuCtxCreate_v4, out, params, flags, device); });
}
TIDEMARK_HOOK(cuCtxDestroy)(CUcontext context) {
  return end(context, false, [&] { return call(&Driver::cuCtxDestroy, context); });
}
TIDEMARK_HOOK(cuCtxDestroy_v2)(CUcontext context) {
  return end(context, false, [&] { return call(&Driver::cuCtxDestroy_v2, context); });
}
TIDEMARK_HOOK(cuCtxDetach)(CUcontext context) {
  return end(context, true, [&] { return call(&Driver::cuCtxDetach, context); });
}
