// SPDX-License-Identifier: Apache-2.0
// Asks for a handle with which another process could open its memory, and says what it was told.
#include "tests/hosts/host.h"

int main() {
  host::work();
  void* const block = host::account.allocate(1 << 20);
  cudaIpcMemHandle_t handle{};
  std::printf("%s\n", cudaGetErrorName(cudaIpcGetMemHandle(&handle, block)));
  static_cast<void>(cudaGetLastError());
  host::account.free(block, 1 << 20);
  host::work();
  host::account.write();
  return 0;
}
