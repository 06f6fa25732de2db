// SPDX-License-Identifier: Apache-2.0
// A listener hears, in the driver, what a program asks of the runtime: on the software device, whose runtime looks its
// functions up as the vendor's does.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <vector>

#include "tests/integration/doors/listening.h"
#include "tests/integration/doors/process.h"

extern "C" cudaError_t cudaMemsetAsync_ptsz(void* block, int value, size_t bytes, cudaStream_t stream);

namespace tidemark::doors {
namespace {

namespace order = tidemark::interpose::order;
using Kind = order::Stream::Kind;
using order::Work;

struct Told {
  std::string name;
  Work work;
  order::Stream stream;
};
std::vector<Told> told;

class Heard : public testing::Test {
 protected:
  // Before the runtime's first call: what it looks up then, it keeps.
  static void SetUpTestSuite() {
    auto const way_in = reinterpret_cast<const Listening* (*)()>(exported("tidemark_test_listening"));
    way_in()->listen(
        [](const order::Submission& s) {
          told.push_back({s.entry.name, s.entry.work, s.stream});
        },
        order::Layers::Driver);
  }
  void SetUp() override {
    ASSERT_EQ(cudaMalloc(&block_, 4096), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    told.clear();
  }
  void TearDown() override {
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    EXPECT_EQ(cudaFree(block_), cudaSuccess);
  }
  // Whether work of that kind was told, and all of it for that stream.
  bool heard(Work work, const order::Stream& stream) const {
    auto const is_work = [&](const Told& t) { return t.work == work; };
    return std::any_of(told.begin(), told.end(), is_work) &&
           std::all_of(told.begin(), told.end(), [&](const Told& t) { return !is_work(t) || t.stream == stream; });
  }
  order::Stream own() const { return {.kind = Kind::Handle, .handle = reinterpret_cast<std::uint64_t>(stream_)}; }

  void* block_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

TEST_F(Heard, WorkInAStream) {
  char host[64] = {};
  EXPECT_EQ(cudaMemcpyAsync(block_, host, sizeof host, cudaMemcpyHostToDevice, stream_), cudaSuccess);
  EXPECT_TRUE(heard(Work::Copy, own()));
  EXPECT_EQ(cudaMemsetAsync(block_, 1, 64, stream_), cudaSuccess);
  EXPECT_TRUE(heard(Work::Fill, own()));
  EXPECT_EQ(cudaLaunchHostFunc(
                stream_, [](void*) {}, nullptr),
            cudaSuccess);
  EXPECT_TRUE(heard(Work::Host, own()));
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_TRUE(heard(Work::Sync, own()));
}

TEST_F(Heard, WorkInTheDefaultStreams) {
  EXPECT_EQ(cudaMemset(block_, 1, 64), cudaSuccess);
  EXPECT_TRUE(heard(Work::Fill, {.kind = Kind::Legacy}));
  told.clear();
  EXPECT_EQ(cudaMemsetAsync_ptsz(block_, 1, 64, nullptr), cudaSuccess);
  EXPECT_TRUE(heard(Work::Fill, {.kind = Kind::PerThread}));
}

TEST_F(Heard, EventsAndStreams) {
  cudaEvent_t event = nullptr;
  EXPECT_EQ(cudaEventCreate(&event), cudaSuccess);
  told.clear();
  EXPECT_EQ(cudaEventRecord(event, stream_), cudaSuccess);
  EXPECT_TRUE(heard(Work::Event, own()));
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  cudaStream_t other = nullptr;
  told.clear();
  EXPECT_EQ(cudaStreamCreate(&other), cudaSuccess);
  EXPECT_TRUE(heard(Work::Stream, {}));
  told.clear();
  EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
  EXPECT_TRUE(heard(Work::Stream, {.kind = Kind::Handle, .handle = reinterpret_cast<std::uint64_t>(other)}));
}

TEST_F(Heard, AGraph) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(executable, stream_), cudaSuccess);
  EXPECT_TRUE(heard(Work::Graph, own()));
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(Heard, AnotherContext) {
  CUcontext current = nullptr;
  ASSERT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
  told.clear();
  EXPECT_EQ(cuCtxSetCurrent(current), CUDA_SUCCESS);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].work, Work::Context);
}

}  // namespace
}  // namespace tidemark::doors
