// SPDX-License-Identifier: Apache-2.0
// Events, and the external memory and semaphores whose fate the driver decides.
#include "softgpu/runtime/array.h"
#include "softgpu/runtime/context.h"

using namespace tidemark::softgpu::runtime;

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return forward(&Driver::cuEventCreate, event, static_cast<unsigned>(CU_EVENT_DEFAULT));
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return forward(&Driver::cuEventCreate, event, flags);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return forward(&Driver::cuEventRecord, event, stream);
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  return forward(&Driver::cuEventRecordWithFlags, event, stream, flags);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return forward(&Driver::cuEventQuery, event);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return forward(&Driver::cuEventSynchronize, event);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (event == nullptr) return record(cudaErrorInvalidResourceHandle);
  return forward(&Driver::cuEventDestroy, event);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return forward(&Driver::cuEventElapsedTime, milliseconds, start, end);
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event) {
  return forward(&Driver::cuIpcGetEventHandle, handle, event);
}
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle) {
  return forward(&Driver::cuIpcOpenEventHandle, event, *convert<CUipcEventHandle*>(&handle));
}

cudaError_t cudaImportExternalMemory(cudaExternalMemory_t* memory, const cudaExternalMemoryHandleDesc* handle) {
  return forward(&Driver::cuImportExternalMemory, memory, handle);
}
cudaError_t cudaExternalMemoryGetMappedBuffer(void** pointer, cudaExternalMemory_t memory,
                                              const cudaExternalMemoryBufferDesc* buffer) {
  return forward(&Driver::cuExternalMemoryGetMappedBuffer, pointer, memory, buffer);
}
cudaError_t cudaExternalMemoryGetMappedMipmappedArray(cudaMipmappedArray_t* array, cudaExternalMemory_t memory,
                                                      const cudaExternalMemoryMipmappedArrayDesc* wanted) {
  if (array == nullptr || wanted == nullptr) return record(cudaErrorInvalidValue);
  CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC description{};
  description.offset = wanted->offset;
  description.numLevels = wanted->numLevels;
  cudaError_t const error = describe_array(wanted->formatDesc, wanted->extent, wanted->flags, description.arrayDesc);
  if (error != cudaSuccess) return record(error);
  return forward(&Driver::cuExternalMemoryGetMappedMipmappedArray, array, memory, &description);
}
cudaError_t cudaDestroyExternalMemory(cudaExternalMemory_t memory) {
  return forward(&Driver::cuDestroyExternalMemory, memory);
}
cudaError_t cudaImportExternalSemaphore(cudaExternalSemaphore_t* semaphore,
                                        const cudaExternalSemaphoreHandleDesc* handle) {
  return forward(&Driver::cuImportExternalSemaphore, semaphore, handle);
}
cudaError_t cudaSignalExternalSemaphoresAsync(const cudaExternalSemaphore_t* semaphores,
                                              const cudaExternalSemaphoreSignalParams* parameters, unsigned int count,
                                              cudaStream_t stream) {
  return forward(&Driver::cuSignalExternalSemaphoresAsync, semaphores, parameters, count, stream);
}
cudaError_t cudaWaitExternalSemaphoresAsync(const cudaExternalSemaphore_t* semaphores,
                                            const cudaExternalSemaphoreWaitParams* parameters, unsigned int count,
                                            cudaStream_t stream) {
  return forward(&Driver::cuWaitExternalSemaphoresAsync, semaphores, parameters, count, stream);
}
cudaError_t cudaDestroyExternalSemaphore(cudaExternalSemaphore_t semaphore) {
  return forward(&Driver::cuDestroyExternalSemaphore, semaphore);
}
