// SPDX-License-Identifier: Apache-2.0
// How much memory there is. Without a limit the answers pass untouched.
#include <algorithm>
#include <limits>

#include "interpose/hooks/hook.h"
#include "interpose/limit/limit.h"
#include "interpose/serve/cache.h"
#include "interpose/serve/serve.h"

using namespace tidemark::interpose;

namespace {

bool is_limited() {
  return ready() && limit_bytes() != 0;
}
// What is cached counts as free: whoever asks the driver for it gets it.
bool is_corrected() {
  return is_limited() || (serve::has_caches() && recording());
}

// What the current device's capacity looks like. Some clients ask for one of the two, or with no pointer at all.
template <class Bytes>
void correct(Bytes* free, Bytes* total) {
  std::size_t free_bytes = 0, total_bytes = 0;
  Place const place = current_place();
  if (place.context == 0) return;
  devices().meet(place.device);
  std::uint64_t cached = 0;
  bool told = false;
  serve::look_at_once(place.device, [&] {
    told = call(&Driver::cuMemGetInfo_v2, &free_bytes, &total_bytes) == CUDA_SUCCESS;
    cached = serve::returnable_bytes(place.device);
  });
  if (!told) return;
  Capacity const real{.free_bytes = free_bytes + cached, .total_bytes = total_bytes};
  Capacity const seen = limit_bytes() == 0 ? real : limited(real, devices().measure(place.device) - cached);
  constexpr std::uint64_t kMost = std::numeric_limits<Bytes>::max();
  if (free != nullptr) *free = static_cast<Bytes>(std::min(kMost, seen.free_bytes));
  if (total != nullptr) *total = static_cast<Bytes>(std::min<std::uint64_t>(*total, seen.total_bytes));
}

}  // namespace

TIDEMARK_HOOK(cuMemGetInfo_v2)(size_t* free, size_t* total) {
  CUresult const result = call(&Driver::cuMemGetInfo_v2, free, total);
  if (result == CUDA_SUCCESS && is_corrected()) shield([&] { correct(free, total); });
  return result;
}

TIDEMARK_HOOK(cuDeviceTotalMem_v2)(size_t* bytes, CUdevice device) {
  CUresult const result = call(&Driver::cuDeviceTotalMem_v2, bytes, device);
  if (result == CUDA_SUCCESS && bytes != nullptr && is_limited()) *bytes = std::min(*bytes, limit_bytes());
  return result;
}

// The first forms have 32 bits for an answer. What the driver does about larger ones is its business; a limit that fits
// is told.
TIDEMARK_HOOK(cuMemGetInfo)(unsigned int* free, unsigned int* total) {
  CUresult const result = call(&Driver::cuMemGetInfo, free, total);
  if (result == CUDA_SUCCESS && is_corrected()) shield([&] { correct(free, total); });
  return result;
}

TIDEMARK_HOOK(cuDeviceTotalMem)(unsigned int* bytes, CUdevice device) {
  CUresult const result = call(&Driver::cuDeviceTotalMem, bytes, device);
  if (result == CUDA_SUCCESS && bytes != nullptr && is_limited())
    *bytes = static_cast<unsigned int>(std::min<std::uint64_t>(*bytes, limit_bytes()));
  return result;
}
