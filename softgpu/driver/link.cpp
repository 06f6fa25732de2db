// SPDX-License-Identifier: Apache-2.0
// The linker of device code: it gathers what its inputs hold. There is no code to put together, so the image that it
// makes is PTX text with names and sizes alone, which the loader here reads like any other.
#include <cstring>

#include "softgpu/driver/function.h"
#include "softgpu/driver/module.h"
#include "softgpu/interface/softgpu.h"

using namespace tidemark;
using namespace tidemark::softgpu;

namespace {

template <class F>
CUresult with_link(CUlinkState state, F f) {
  return with_context([&](Call& call) -> CUresult {
    return call.driver.links.check(state) == nullptr ? CUDA_ERROR_INVALID_HANDLE : f(call);
  });
}

CUresult add(Call& call, CUlinkState state, CUjitInputType type, const void* data, std::size_t bytes) {
  if (type == CU_JIT_INPUT_OBJECT || type == CU_JIT_INPUT_LIBRARY || type == CU_JIT_INPUT_NVVM)
    return static_cast<CUresult>(softgpu_not_supported("cuLinkAddData of objects and libraries"));
  if (data == nullptr || bytes == 0 || !state->image.empty()) return CUDA_ERROR_INVALID_VALUE;
  ImageNames const names =
      read_image({static_cast<const std::byte*>(data), bytes}, architecture_of(*call.driver.config.profile));
  if (names.kind == ImageNames::Kind::Invalid)
    return type == CU_JIT_INPUT_PTX ? CUDA_ERROR_INVALID_PTX : CUDA_ERROR_INVALID_IMAGE;
  if (!names.readable) return static_cast<CUresult>(softgpu_not_supported("cuLinkAddData of a compressed fat binary"));
  auto& all = state->names;
  all.kernels.insert(all.kernels.end(), names.kernels.begin(), names.kernels.end());
  all.variables.insert(all.variables.end(), names.variables.begin(), names.variables.end());
  all.architecture = std::max(all.architecture, names.architecture);
  return CUDA_SUCCESS;
}

std::string as_ptx(const ImageNames& names) {
  std::string text =
      ".version 9.0\n.target sm_" + std::to_string(std::max(names.architecture, 75)) + "\n.address_size 64\n";
  for (ImageNames::Variable const& v : names.variables)
    text += ".visible .global .b8 " + v.name + "[" + std::to_string(v.bytes) + "];\n";
  for (ImageNames::Kernel const& k : names.kernels) {
    text += ".visible .entry " + k.name + "()\n";
    if (k.thread_limit != 0) text += ".maxntid " + std::to_string(k.thread_limit) + ", 1, 1\n";
    text += "{\n";
    if (k.static_shared_bytes != 0) text += ".shared .b8 all[" + std::to_string(k.static_shared_bytes) + "];\n";
    text += "ret;\n}\n";
  }
  return text;
}

}  // namespace

CUresult CUDAAPI cuLinkCreate_v2(unsigned, CUjit_option*, void**, CUlinkState* out) {
  return with_context([&](Call& call) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = call.driver.links.create();
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void* data, size_t bytes, const char*,
                                  unsigned, CUjit_option*, void**) {
  return with_link(state, [&](Call& call) { return add(call, state, type, data, bytes); });
}

CUresult CUDAAPI cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char* path, unsigned, CUjit_option*,
                                  void**) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto const bytes = read_file(path);
  if (!bytes) return CUDA_ERROR_FILE_NOT_FOUND;
  return with_link(state, [&](Call& call) { return add(call, state, type, bytes->data(), bytes->size()); });
}

CUresult CUDAAPI cuLinkComplete(CUlinkState state, void** image, size_t* bytes) {
  return with_link(state, [&](Call&) -> CUresult {
    if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
    state->image = as_ptx(state->names);
    *image = state->image.data();
    if (bytes != nullptr) *bytes = state->image.size() + 1;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuLinkDestroy(CUlinkState state) {
  return with_link(state, [&](Call& call) -> CUresult {
    call.driver.links.destroy(state);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuLinkCreate(unsigned n, CUjit_option* options, void** values, CUlinkState* out) {
  return cuLinkCreate_v2(n, options, values, out);
}
CUresult CUDAAPI cuLinkAddData(CUlinkState state, CUjitInputType type, void* data, size_t bytes, const char* name,
                               unsigned n, CUjit_option* options, void** values) {
  return cuLinkAddData_v2(state, type, data, bytes, name, n, options, values);
}
CUresult CUDAAPI cuLinkAddFile(CUlinkState state, CUjitInputType type, const char* path, unsigned n,
                               CUjit_option* options, void** values) {
  return cuLinkAddFile_v2(state, type, path, n, options, values);
}
