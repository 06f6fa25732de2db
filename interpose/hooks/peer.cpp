// SPDX-License-Identifier: Apache-2.0
// Access to another context's memory. The driver grants it for blocks of its own; served ones are mapped for it.
#include "interpose/hooks/hook.h"
#include "interpose/serve/peers.h"

using namespace tidemark::interpose;

namespace {

CUresult changed(CUcontext owner, bool enabled, CUresult result) {
  if (result == CUDA_SUCCESS && ready()) shield([&] { serve::peer_access_changed(owner, enabled); });
  return result;
}

}  // namespace

TIDEMARK_HOOK(cuCtxEnablePeerAccess)(CUcontext owner, unsigned int flags) {
  return changed(owner, true, call(&Driver::cuCtxEnablePeerAccess, owner, flags));
}
TIDEMARK_HOOK(cuCtxDisablePeerAccess)(CUcontext owner) {
  return changed(owner, false, call(&Driver::cuCtxDisablePeerAccess, owner));
}
