// SPDX-License-Identifier: Apache-2.0
// Textures and surfaces: the program looks at what it is told, as a careful one does, and goes on without them.
#include "tests/integration/programs/check.h"

__global__ void sample(cudaTextureObject_t texture, float* out, int n) {
  int const i = static_cast<int>(threadIdx.x);
  if (i < n) out[i] = tex1Dfetch<float>(texture, i);
}

int main() {
  constexpr int kCount = 256;
  float *data = nullptr, *out = nullptr;
  CHECK(cudaMalloc(&data, kCount * sizeof(float)));
  CHECK(cudaMalloc(&out, kCount * sizeof(float)));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = data;
  resource.res.linear.desc = cudaCreateChannelDesc<float>();
  resource.res.linear.sizeInBytes = kCount * sizeof(float);
  cudaTextureDesc description{};
  description.readMode = cudaReadModeElementType;
  cudaTextureObject_t texture = 0;
  cudaError_t const made = cudaCreateTextureObject(&texture, &resource, &description, nullptr);
  std::printf("texture: %s\n", cudaGetErrorName(made));
  if (made == cudaSuccess) {
    sample<<<1, kCount>>>(texture, out, kCount);
    CHECK(cudaGetLastError());
    CHECK(cudaDestroyTextureObject(texture));
  } else {
    REQUIRE(cudaGetLastError() == made && cudaGetLastError() == cudaSuccess);
    REQUIRE(cudaCreateTextureObject(&texture, &resource, &description, nullptr) == made);
    (void)cudaGetLastError();
  }
  cudaArray_t array = nullptr;
  CHECK(cudaMallocArray(&array, &resource.res.linear.desc, 64, 64, cudaArraySurfaceLoadStore));
  cudaResourceDesc of_array{};
  of_array.resType = cudaResourceTypeArray;
  of_array.res.array.array = array;
  cudaSurfaceObject_t surface = 0;
  cudaError_t const surface_made = cudaCreateSurfaceObject(&surface, &of_array);
  std::printf("surface: %s\n", cudaGetErrorName(surface_made));
  if (surface_made == cudaSuccess) CHECK(cudaDestroySurfaceObject(surface));
  (void)cudaGetLastError();
  CHECK(cudaFreeArray(array));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(data));
  CHECK(cudaFree(out));
  return 0;
}
