// SPDX-License-Identifier: Apache-2.0
// __device__ and __constant__ variables by their host shadow: address, size, copies.
#include "softgpu/runtime/symbol.h"

namespace tidemark::softgpu::runtime {

cudaError_t locate(const SymbolRange& range, void*& address) {
  Variable variable;
  if (cudaError_t const error = find_variable(range.symbol, variable); error != cudaSuccess) return error;
  if (range.offset > variable.bytes || range.bytes > variable.bytes - range.offset) return cudaErrorInvalidValue;
  address = static_cast<char*>(variable.address) + range.offset;
  return cudaSuccess;
}

}  // namespace tidemark::softgpu::runtime

using namespace tidemark::softgpu::runtime;

namespace {

bool writes_device(cudaMemcpyKind kind) {
  return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault;
}
bool reads_device(cudaMemcpyKind kind) {
  return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault;
}

cudaError_t locate_for(const SymbolRange& range, bool kind_fits, void*& address) {
  return kind_fits ? locate(range, address) : cudaErrorInvalidMemcpyDirection;
}

}  // namespace

cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
  if (pointer == nullptr) return record(cudaErrorInvalidValue);
  return record(locate({symbol, 0, 0}, *pointer));
}

cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  if (bytes == nullptr) return record(cudaErrorInvalidValue);
  Variable variable;
  cudaError_t const error = find_variable(symbol, variable);
  if (error == cudaSuccess) *bytes = variable.bytes;
  return record(error);
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* source, size_t bytes, size_t offset,
                               cudaMemcpyKind kind) {
  void* address = nullptr;
  cudaError_t const error = locate_for({symbol, offset, bytes}, writes_device(kind), address);
  return error != cudaSuccess ? record(error) : cudaMemcpy(address, source, bytes, kind);
}

cudaError_t cudaMemcpyFromSymbol(void* target, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  void* address = nullptr;
  cudaError_t const error = locate_for({symbol, offset, bytes}, reads_device(kind), address);
  return error != cudaSuccess ? record(error) : cudaMemcpy(target, address, bytes, kind);
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* source, size_t bytes, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
  void* address = nullptr;
  cudaError_t const error = locate_for({symbol, offset, bytes}, writes_device(kind), address);
  return error != cudaSuccess ? record(error) : cudaMemcpyAsync(address, source, bytes, kind, stream);
}

cudaError_t cudaMemcpyFromSymbolAsync(void* target, const void* symbol, size_t bytes, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
  void* address = nullptr;
  cudaError_t const error = locate_for({symbol, offset, bytes}, reads_device(kind), address);
  return error != cudaSuccess ? record(error) : cudaMemcpyAsync(target, address, bytes, kind, stream);
}
