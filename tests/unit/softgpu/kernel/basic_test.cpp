// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "tests/unit/softgpu/kernel/bodies/types.h"
#include "tests/unit/softgpu/kernel/support.h"

namespace tidemark::softgpu::testing {
namespace {

void expect_indices(const Shape& shape) {
  auto const volume = [](SoftgpuDim d) { return std::size_t{d.x} * d.y * d.z; };
  std::vector<IndexRecord> out(volume(shape.grid) * volume(shape.block), IndexRecord{{9999}, {}, {}, {}});
  ASSERT_EQ(launch("record_index", shape, out.data()), SOFTGPU_KERNEL_OK);
  std::size_t at = 0;
  auto const same = [](const unsigned* got, unsigned x, unsigned y, unsigned z) {
    return got[0] == x && got[1] == y && got[2] == z;
  };
  SoftgpuDim const g = shape.grid, b = shape.block;
  for (unsigned bz = 0; bz < g.z; ++bz)
    for (unsigned by = 0; by < g.y; ++by)
      for (unsigned bx = 0; bx < g.x; ++bx)
        for (unsigned z = 0; z < b.z; ++z)
          for (unsigned y = 0; y < b.y; ++y)
            for (unsigned x = 0; x < b.x; ++x) {
              const IndexRecord& r = out[at++];
              ASSERT_TRUE(same(r.thread, x, y, z) && same(r.block, bx, by, bz) && same(r.block_dim, b.x, b.y, b.z) &&
                          same(r.grid_dim, g.x, g.y, g.z))
                  << "record " << at - 1;
            }
}

TEST(KernelIndex, EveryThreadOfEveryShapeRunsOnceAndKnowsWhereItStands) {
  expect_indices({});
  expect_indices({.grid = {7, 1, 1}, .block = {1024, 1, 1}});
  expect_indices({.grid = {3, 5, 1}, .block = {31, 3, 1}});
  expect_indices({.grid = {2, 3, 4}, .block = {5, 7, 9}});
  expect_indices({.grid = {1, 1, 3}, .block = {1, 1, 64}});
  expect_indices({.grid = {2, 2, 2}, .block = {32, 32, 1}});
  expect_indices({.grid = {13, 3, 1}, .block = {33, 2, 2}, .os_threads = 4});
}

TEST(KernelIndex, ARangeOfBlocksRunsThoseBlocksOnly) {
  std::vector<IndexRecord> out(10, IndexRecord{{77}, {}, {}, {}});
  SoftgpuLaunch const launch{.grid = {5, 2, 1}, .block = {1, 1, 1}};
  IndexRecord* address = out.data();
  void* params[] = {&address};
  ASSERT_EQ(kernel("record_index").run(&launch, params, 3, 7), SOFTGPU_KERNEL_OK);
  for (unsigned i = 0; i < 10; ++i) EXPECT_EQ(out[i].thread[0], i >= 3 && i < 7 ? 0u : 77u) << i;
  EXPECT_EQ(out[6].block[0], 1u);
  EXPECT_EQ(out[6].block[1], 1u);
}

TEST(KernelParameters, FlatKernelAddsVectors) {
  std::vector<float> a(1000), b(1000), c(1100, -1);
  std::iota(a.begin(), a.end(), 0.0f);
  std::iota(b.begin(), b.end(), 0.5f);
  const float *pa = a.data(), *pb = b.data();
  ASSERT_EQ(launch("vector_add", {.grid = {8, 1, 1}, .block = {128, 1, 1}}, pa, pb, c.data(), 1000), SOFTGPU_KERNEL_OK);
  for (int i = 0; i < 1100; ++i) ASSERT_EQ(c[i], i < 1000 ? static_cast<float>(2 * i) + 0.5f : -1.0f) << i;
}

TEST(KernelParameters, StructuresArriveByValueFromAnyAlignment) {
  std::vector<double> x(300, 2.0);
  Affine const by{.scale = 3.0, .pad = {}, .offset = 1};
  std::vector<std::byte> unaligned(sizeof by + 1);
  std::memcpy(unaligned.data() + 1, &by, sizeof by);
  double* px = x.data();
  int n = 299;
  Shape const shape{.grid = {3, 1, 1}, .block = {128, 1, 1}};
  ASSERT_EQ(launch_with(kernel("affine<double, 3>"), shape, {&px, unaligned.data() + 1, &n}), SOFTGPU_KERNEL_OK);
  EXPECT_EQ(x[0], ((2.0 * 3 + 1) * 3 + 1) * 3 + 1);
  EXPECT_EQ(x[298], x[0]);
  EXPECT_EQ(x[299], 2.0);
}

TEST(KernelParameters, ThirtyTwoKilobytesOfParameters) {
  LargeArgument argument;
  std::iota(std::begin(argument.words), std::end(argument.words), 1u);
  unsigned out[40] = {};
  ASSERT_EQ(launch("sum_large", {.block = {40, 1, 1}}, argument, &out[0]), SOFTGPU_KERNEL_OK);
  EXPECT_EQ(out[0], 8000u * 8001u / 2);
  EXPECT_EQ(out[39], out[0]);
}

TEST(KernelParameters, TheTableDescribesThem) {
  const SoftgpuKernel& k = kernel("affine<float, 1>");
  ASSERT_EQ(k.param_count, 3u);
  EXPECT_EQ(k.params[0].size_bytes, 8u);
  EXPECT_TRUE(k.params[0].is_pointer);
  EXPECT_EQ(k.params[1].size_bytes, sizeof(Affine));
  EXPECT_FALSE(k.params[1].is_pointer);
  EXPECT_EQ(k.params[2].size_bytes, 4u);
  EXPECT_EQ(k.flags, 0u);
  EXPECT_EQ(k.max_threads_per_block, 1024u);
  EXPECT_EQ(kernel("vector_add").flags, SOFTGPU_KERNEL_FLAT);
  EXPECT_EQ(kernel("serial_kernel").flags, SOFTGPU_KERNEL_SERIAL);
  EXPECT_EQ(kernel("no_parameters").param_count, 0u);
  EXPECT_EQ(launch("no_parameters", {.block = {33, 1, 1}}), SOFTGPU_KERNEL_OK);
}

TEST(SharedMemory, StaticArraysOfTemplatesAreTheBlocksOwn) {
  std::vector<Outer<Inner<float>, 100>> data(5);
  for (int block = 0; block < 5; ++block)
    for (int i = 0; i < 100; ++i) data[block].items[i].value = static_cast<float>(1000 * block + i);
  Shape const shape{.grid = {5, 1, 1}, .block = {32, 1, 1}, .os_threads = 2};
  ASSERT_EQ(launch("reverse_block<float, 100u>", shape, data.data()), SOFTGPU_KERNEL_OK);
  for (int block = 0; block < 5; ++block)
    for (int i = 0; i < 100; ++i) ASSERT_EQ(data[block].items[i].value, static_cast<float>(1000 * block + 99 - i));

  Outer<Inner<unsigned char>, 37> bytes;
  for (unsigned i = 0; i < 37; ++i) bytes.items[i].value = static_cast<unsigned char>(i);
  ASSERT_EQ(launch("reverse_block<unsigned char, 37u>", {.block = {50, 1, 1}}, &bytes), SOFTGPU_KERNEL_OK);
  EXPECT_EQ(bytes.items[0].value, 36);
}

TEST(SharedMemory, DynamicPartHasTheLaunchsSize) {
  for (unsigned n : {1u, 37u, 1024u}) {
    std::vector<double> data(3 * n);
    std::iota(data.begin(), data.end(), 0.0);
    Shape const shape{.grid = {3, 1, 1}, .block = {n, 1, 1}, .dynamic_shared_bytes = n * 8};
    ASSERT_EQ(launch("reverse_dynamic<double>", shape, data.data()), SOFTGPU_KERNEL_OK);
    for (unsigned i = 0; i < 3 * n; ++i) ASSERT_EQ(data[i], static_cast<double>(i / n * n + n - 1 - i % n));
  }
}

TEST(Linkage, KernelsOfEveryLinkageRun) {
  int out = 0;
  for (auto const& [name, value] : {std::pair{"plain_c_name", 7},
                                    {"static_kernel", 11},
                                    {"(anonymous namespace)::unnamed_kernel", 13},
                                    {"named::inner::nested_static_kernel", 17}}) {
    ASSERT_EQ(launch(name, {}, &out), SOFTGPU_KERNEL_OK);
    EXPECT_EQ(out, value) << name;
  }
}

TEST(Symbols, HaveTheirInitialValuesAndAddresses) {
  float out[7] = {};
  ASSERT_EQ(launch("use_symbols", {}, &out[0]), SOFTGPU_KERNEL_OK);
  EXPECT_EQ(out[0], 5.0f);
  EXPECT_EQ(out[4], 4.0f);
  EXPECT_EQ(out[5], 2.5f);
  EXPECT_EQ(out[6], 9.0f);
  EXPECT_EQ(*static_cast<int*>(symbol("device_counter").address), 6);
  EXPECT_EQ(symbol("constant_table").size_bytes, 16u);
  static_cast<float*>(symbol("constant_table").address)[3] = 8;
  ASSERT_EQ(launch("use_symbols", {}, &out[0]), SOFTGPU_KERNEL_OK);
  EXPECT_EQ(out[0], 6.0f);
  EXPECT_EQ(out[4], 8.0f);
  EXPECT_EQ(*static_cast<int*>(symbol("static_counter").address), 2);
  EXPECT_EQ(*static_cast<int*>(symbol("(anonymous namespace)::unnamed_counter").address), 4);
}

TEST(Library, SaysItsVersionAndHasNoNameTwice) {
  EXPECT_EQ(library().abi, static_cast<unsigned>(SOFTGPU_KERNEL_ABI));
  for (unsigned i = 0; i < library().kernel_count; ++i)
    for (unsigned j = 0; j < i; ++j) EXPECT_STRNE(library().kernels[i].name, library().kernels[j].name);
}

}  // namespace
}  // namespace tidemark::softgpu::testing
