/* SPDX-License-Identifier: Apache-2.0 */
/* A C program that marks its work with NVTX: before its first CUDA call, in domains, with a started range. Prints what
   NVTX answers, so that runs can be compared. */
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void allocate(size_t bytes) {
  void* block = NULL;
  if (cudaMalloc(&block, bytes) != cudaSuccess) exit(1);
}

static nvtxEventAttributes_t registered(nvtxStringHandle_t text) {
  nvtxEventAttributes_t event;
  memset(&event, 0, sizeof event);
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = text;
  return event;
}

int main(void) {
  printf("push %d\n", nvtxRangePushA("network"));
  printf("push %d\n", nvtxRangePushA("forward"));
  printf("push %d\n", nvtxRangePushW(L"conv1"));
  allocate(1000);
  printf("pop %d\n", nvtxRangePop());

  nvtxDomainHandle_t domain = nvtxDomainCreateA("library");
  nvtxEventAttributes_t event = registered(nvtxDomainRegisterStringA(domain, "attention"));
  printf("push %d\n", nvtxDomainRangePushEx(domain, &event));
  nvtxRangeId_t range = nvtxRangeStartA("started");
  allocate(2000);
  nvtxMarkA("a mark");
  nvtxRangeEnd(range);
  allocate(3000);
  printf("pop %d\n", nvtxDomainRangePop(domain));
  printf("pop %d\n", nvtxRangePop());
  allocate(4000);
  printf("pop %d\n", nvtxRangePop());
  allocate(5000);
  return 0;
}
