// SPDX-License-Identifier: Apache-2.0
// 70 GiB of tensors on an 80 GiB device, in dry run: filled, copied to, copied between, by every way of allocating.
// They must cost less than 1 GiB of host memory at any time.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kGiB = std::size_t{1} << 30;

void check(int error, int line) {
  if (error == 0) return;
  std::printf("large_device.cpp:%d: error %d\n", line, error);
  std::exit(1);
}
#define CHECK(call) check(static_cast<int>(call), __LINE__)

std::size_t most_resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::strtoull(line.c_str() + 6, nullptr, 10);
  return 0;
}

void use(void* p, const std::vector<char>& host) {
  CHECK(cudaMemset(p, 0, kGiB));
  CHECK(cudaMemcpy(p, host.data(), host.size(), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(static_cast<char*>(p) + kGiB / 2, p, kGiB / 4, cudaMemcpyDeviceToDevice));
  float value = 1.5f, back = 0;
  CHECK(cudaMemcpy(p, &value, sizeof value, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(&back, p, sizeof back, cudaMemcpyDeviceToHost));
  if (back != value) check(1000, __LINE__);  // small copies keep their values
}

void* map_gib(CUmemGenericAllocationHandle* handle) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
  CUmemAccessDesc const access{.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUdeviceptr at = 0;
  CHECK(cuMemAddressReserve(&at, kGiB, 0, 0, 0));
  CHECK(cuMemCreate(handle, kGiB, &prop, 0));
  CHECK(cuMemMap(at, kGiB, 0, *handle, 0));
  CHECK(cuMemSetAccess(at, kGiB, &access, 1));
  return reinterpret_cast<void*>(at);
}

}  // namespace

int main() {
  std::vector<char> const host(64u << 20, 'x');
  CHECK(cudaFree(nullptr));
  std::vector<void*> plain(30), pooled(20);
  for (void*& p : plain) CHECK(cudaMalloc(&p, kGiB));
  for (void*& p : pooled) CHECK(cudaMallocAsync(&p, kGiB, nullptr));
  CHECK(cudaDeviceSynchronize());
  std::vector<CUmemGenericAllocationHandle> handles(20);
  std::vector<void*> mapped;
  for (auto& handle : handles) mapped.push_back(map_gib(&handle));
  std::size_t free_bytes = 0, total = 0;
  CHECK(cudaMemGetInfo(&free_bytes, &total));
  for (auto const* all : {&plain, &pooled, &mapped})
    for (void* const p : *all) use(p, host);
  void* more = nullptr;
  bool const refused = cudaMalloc(&more, 10 * kGiB) == cudaErrorMemoryAllocation;
  for (void* const p : plain) CHECK(cudaFree(p));
  std::size_t const resident = most_resident_kib();
  std::printf("%.2f of %.2f GiB in use, 10 GiB more %s, at most %.0f MiB of host memory\n",
              static_cast<double>(total - free_bytes) / kGiB, static_cast<double>(total) / kGiB,
              refused ? "refused" : "GIVEN", static_cast<double>(resident) / 1024);
  return refused && total - free_bytes >= 70 * kGiB && resident < (1u << 20) ? 0 : 1;
}
