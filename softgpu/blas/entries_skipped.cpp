// SPDX-License-Identifier: Apache-2.0
// Routines that are declared and not computed: refused by name in execute mode; in dry run they are queued as an item
// of work like any other, so that order and launches stay visible.
#include "softgpu/blas/call.h"

namespace tidemark::softgpu::blas::api {
namespace {

cublasStatus_t skip(Entry entry) {
  Call call(entry);
  if (call.ok()) call.require(not_supported(entry.name) == CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_NOT_SUPPORTED);
  return call.run([] {});
}

}  // namespace
}  // namespace tidemark::softgpu::blas::api

using namespace tidemark::softgpu::blas;
#include <skipped.inc>
