// SPDX-License-Identifier: Apache-2.0
// Pitched and three-dimensional memory, arrays and the copies between them, as image programs use them.
#include <vector>

#include "tests/integration/programs/check.h"

__global__ void invert(unsigned char* image, std::size_t pitch, int width, int height) {
  int const x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  int const y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x < width && y < height) image[y * pitch + x] = static_cast<unsigned char>(255 - image[y * pitch + x]);
}

int main(int argc, char** argv) {
  constexpr int kWidth = 100, kHeight = 50, kDepth = 4;
  std::vector<unsigned char> host(kWidth * kHeight * kDepth, 7), back(host.size());
  unsigned char* image = nullptr;
  std::size_t pitch = 0;
  CHECK(cudaMallocPitch(&image, &pitch, kWidth, kHeight));
  CHECK(cudaMemset2D(image, pitch, 9, kWidth, kHeight));
  CHECK(cudaMemcpy2D(image, pitch, host.data(), kWidth, kWidth, kHeight, cudaMemcpyHostToDevice));
  invert<<<dim3(4, 4), dim3(32, 16)>>>(image, pitch, kWidth, kHeight);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy2D(back.data(), kWidth, image, pitch, kWidth, kHeight, cudaMemcpyDeviceToHost));
  if (values_count(argc, argv)) REQUIRE(back[0] == 248 && back[kWidth * kHeight - 1] == 248);

  cudaPitchedPtr volume;
  cudaExtent const extent = make_cudaExtent(kWidth, kHeight, kDepth);
  CHECK(cudaMalloc3D(&volume, extent));
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(host.data(), kWidth, kWidth, kHeight);
  copy.dstPtr = volume;
  copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  std::swap(copy.srcPtr, copy.dstPtr);
  copy.dstPtr.ptr = back.data();
  copy.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&copy));
  REQUIRE(back == host);

  cudaArray_t array = nullptr;
  cudaChannelFormatDesc const format = cudaCreateChannelDesc<unsigned char>();
  CHECK(cudaMallocArray(&array, &format, kWidth, kHeight));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, host.data(), kWidth, kWidth, kHeight, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy2DFromArray(back.data(), kWidth, array, 0, 0, kWidth, kHeight, cudaMemcpyDeviceToHost));
  REQUIRE(back == host);
  CHECK(cudaFreeArray(array));
  CHECK(cudaFree(volume.ptr));
  CHECK(cudaFree(image));
  return 0;
}
