// SPDX-License-Identifier: Apache-2.0
// The doors of entry points that submit or order work: what the listener is told, and that nothing of a call is changed
// on its way, for every one of them.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cuda_runtime_api.h>
#undef __CUDA_API_VERSION_INTERNAL

#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <type_traits>
#include <vector>

#include "tests/integration/doors/listening.h"
#include "tests/integration/doors/process.h"

using tidemark::interpose::Library;
namespace order = tidemark::interpose::order;
using order::Layers, order::Work;
using Kind = order::Stream::Kind;

struct RawArguments {
  std::uint64_t integer[6];
  std::uint64_t rax, r10;
  double vector[8][2];
  std::uint64_t stack[8];
};
extern "C" int raw_call(void* function, const RawArguments* arguments);

namespace tidemark::doors {
namespace {

struct Told {
  std::string name;
  Library library;
  Work work;
  order::Stream stream;
};
std::vector<Told> told;

void note(const order::Submission& s) {
  told.push_back({s.entry.name, s.entry.library, s.entry.work, s.stream});
}

const Listening& listening() {
  static auto const* const found = reinterpret_cast<const Listening* (*)()>(exported("tidemark_test_listening"))();
  return *found;
}

struct Row {
  const char* symbol;
  Library library;
  Work work;
  bool per_thread;
  int slot;
};
constexpr Row kRows[] = {
#define TIDEMARK_ORDER_ENTRY(number, symbol, library, work, per_thread, slot) \
  {#symbol, Library::library, Work::work, per_thread, slot},
#include <order_entries.inc>
#undef TIDEMARK_ORDER_ENTRY
};

const char* version_of(Library library) {
  return library == Library::Driver      ? "TIDEMARK_1"
         : library == Library::Runtime12 ? "libcudart.so.12"
                                         : "libcudart.so.13";
}

class Order : public testing::Test {
 protected:
  const Fake& fake(Library library) const {
    return library == Library::Driver ? driver_ : library == Library::Runtime12 ? runtime_12_ : runtime_13_;
  }
  void SetUp() override {
    told.clear();
    forget();
  }
  void TearDown() override { listening().listen(nullptr, Layers::Driver); }
  void forget() const {
    for (const Fake* const library : {&driver_, &runtime_12_, &runtime_13_}) library->forget();
  }

  Fake driver_{"libcuda.so.1"}, runtime_12_{"libcudart.so.12"}, runtime_13_{"libcudart.so.13"};
};

RawArguments recognisable() {
  RawArguments a{};
  for (std::uint64_t i = 0; i < 6; ++i) a.integer[i] = 0x1111000000000000 + i * 0x101;
  for (std::uint64_t i = 0; i < 8; ++i) a.stack[i] = 0x2222000000000000 + i * 0x101;
  for (int i = 0; i < 8; ++i) a.vector[i][0] = 1.5 * i, a.vector[i][1] = -2.5 * i;
  a.rax = 0x3333000000000008, a.r10 = 0x4444000000000001;
  return a;
}

void expect_unharmed(const RawArguments& sent, const FakeCall& seen) {
  EXPECT_EQ(std::memcmp(sent.integer, seen.integer, sizeof sent.integer), 0);
  EXPECT_EQ(std::memcmp(sent.vector, seen.vector, sizeof sent.vector), 0);
  EXPECT_EQ(std::memcmp(sent.stack, seen.stack, sizeof sent.stack), 0);
  EXPECT_EQ(sent.rax, seen.rax);
  EXPECT_EQ(sent.r10, seen.r10);
}

// Streams in structures have tests of their own; here their pointer is null.
RawArguments arguments_for(const Row& row) {
  RawArguments sent = recognisable();
  if (row.slot == order::kInStructure) sent.integer[0] = 0;
  return sent;
}

TEST_F(Order, EveryDoorPassesAllRegistersAndTheStackOnAtItsFirstCallAndLater) {
  std::size_t checked = 0;
  for (const Row& row : kRows) {
    SCOPED_TRACE(std::string(row.symbol) + " " + version_of(row.library));
    void* const door = exported(row.symbol, version_of(row.library));
    ASSERT_NE(door, nullptr);
    RawArguments const sent = arguments_for(row);
    for (int round = 1; round <= 3; ++round) {
      FakeCall seen{};
      EXPECT_EQ(raw_call(door, &sent), 0);
      EXPECT_EQ(fake(row.library).calls(seen), round);
      EXPECT_STREQ(seen.symbol, row.symbol);
      expect_unharmed(sent, seen);
    }
    forget();
    ++checked;
  }
  EXPECT_EQ(checked, std::size(kRows));
  EXPECT_TRUE(told.empty());
}

TEST_F(Order, WithAListenerToo) {
  listening().listen(note, Layers::DriverAndRuntime);
  for (const Row& row : kRows) {
    SCOPED_TRACE(std::string(row.symbol) + " " + version_of(row.library));
    told.clear();
    RawArguments const sent = arguments_for(row);
    FakeCall seen{};
    EXPECT_EQ(raw_call(exported(row.symbol, version_of(row.library)), &sent), 0);
    EXPECT_EQ(fake(row.library).calls(seen), 1);
    EXPECT_STREQ(seen.symbol, row.symbol);
    expect_unharmed(sent, seen);
    forget();
    if (row.slot == order::kInStructure) continue;
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].name, row.symbol);
    EXPECT_EQ(told[0].library, row.library);
    EXPECT_EQ(told[0].work, row.work);
    if (row.slot < 0) continue;
    EXPECT_EQ(told[0].stream.kind, Kind::Handle);
    EXPECT_EQ(told[0].stream.handle, row.slot < 6 ? sent.integer[row.slot] : sent.stack[row.slot - 6]);
  }
}

// An argument that tells its place, of any type.
template <class T>
T value(std::uintptr_t place) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<T>(0x7000 + 16 * place);
  } else if constexpr (std::is_class_v<T>) {
    T made;
    std::memset(static_cast<void*>(&made), static_cast<int>(0x40 + place), sizeof made);
    return made;
  } else {
    return static_cast<T>(0x50 + place);
  }
}

// Calls a door as a compiler calls the function, and expects the listener to be told of the very stream.
template <class R, class... P, std::size_t... i>
void call_typed(R (*door)(P...), std::index_sequence<i...>) {
  constexpr bool kIsStream[] = {std::is_same_v<P, CUstream>..., false};
  std::optional<std::uint64_t> stream;
  for (std::size_t at = 0; at < sizeof...(P) && !stream; ++at)
    if (kIsStream[at]) stream = reinterpret_cast<std::uint64_t>(value<CUstream>(at));
  door(value<P>(i)...);
  ASSERT_EQ(told.size(), 1u);
  if (!stream) {
    EXPECT_NE(told[0].stream.kind, Kind::Handle);
    return;
  }
  EXPECT_EQ(told[0].stream, (order::Stream{.kind = Kind::Handle, .handle = *stream}));
}

template <class R, class... P>
void call_typed(const char* symbol, Library library, R (*)(P...)) {
  SCOPED_TRACE(std::string(symbol) + " " + version_of(library));
  told.clear();
  auto const door = reinterpret_cast<R (*)(P...)>(exported(symbol, version_of(library)));
  ASSERT_NE(door, nullptr);
  call_typed(door, std::index_sequence_for<P...>());
}

// Hooked, not a door: their hooks tell (and want more of their arguments than these are).
bool is_hooked(const std::string& symbol) {
  for (const Row& row : kRows)
    if (symbol == row.symbol) return false;
  return true;
}
bool has_structure(const std::string& symbol) {
  for (const Row& row : kRows)
    if (symbol == row.symbol && row.slot == order::kInStructure) return true;
  return false;
}

TEST_F(Order, TheStreamIsFoundWhereACompilerPutsIt) {
  listening().listen(note, Layers::DriverAndRuntime);
  int checked = 0;
#define TYPED(symbol, library)                          \
  if (!is_hooked(#symbol) && !has_structure(#symbol)) { \
    call_typed(#symbol, Library::library, &::symbol);   \
    ++checked;                                          \
  }
#include <typed.inc>
#undef TYPED
  EXPECT_GT(checked, 400);
}

TEST_F(Order, TheStreamIsFoundInFunctionsThatNoHeaderDeclares) {
  listening().listen(note, Layers::DriverAndRuntime);
  using Launch = cudaError_t (*)(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t);
  using Push = unsigned (*)(dim3, dim3, size_t, cudaStream_t);
  using Prefetch = cudaError_t (*)(const void*, size_t, int, cudaStream_t);
  using PrefetchTo = cudaError_t (*)(const void*, size_t, cudaMemLocation, unsigned, cudaStream_t);
  using CopyBatch =
      cudaError_t (*)(void**, void**, size_t*, size_t, cudaMemcpyAttributes*, size_t*, size_t, size_t*, cudaStream_t);
  using Copy3DBatch = cudaError_t (*)(size_t, cudaMemcpy3DBatchOp*, size_t*, unsigned long long, cudaStream_t);
  for (Library const library : {Library::Runtime12, Library::Runtime13}) {
    call_typed("__cudaLaunchKernel", library, Launch{});
    call_typed("__cudaLaunchKernel_ptsz", library, Launch{});
    call_typed("__cudaPushCallConfiguration", library, Push{});
  }
  call_typed("cudaMemPrefetchAsync", Library::Runtime12, Prefetch{});
  call_typed("cudaMemPrefetchAsync_v2", Library::Runtime12, PrefetchTo{});
  call_typed("cudaMemcpyBatchAsync", Library::Runtime12, CopyBatch{});
  call_typed("cudaMemcpy3DBatchAsync", Library::Runtime12, Copy3DBatch{});
}

TEST_F(Order, StreamsInStructuresAreTold) {
  listening().listen(note, Layers::DriverAndRuntime);
  CUlaunchConfig config{};
  config.hStream = value<CUstream>(3);
  reinterpret_cast<decltype(&cuLaunchKernelEx)>(exported("cuLaunchKernelEx"))(&config, nullptr, nullptr, nullptr);
  cudaLaunchConfig_t runtime_config{};
  runtime_config.stream = value<cudaStream_t>(4);
  for (const char* const version : {"libcudart.so.12", "libcudart.so.13"})
    reinterpret_cast<decltype(&cudaLaunchKernelExC)>(exported("cudaLaunchKernelExC", version))(&runtime_config, nullptr,
                                                                                               nullptr);
  CUDA_LAUNCH_PARAMS several[3] = {};
  for (unsigned i = 0; i < 3; ++i) several[i].hStream = value<CUstream>(5 + i);
  reinterpret_cast<decltype(&cuLaunchCooperativeKernelMultiDevice)>(exported("cuLaunchCooperativeKernelMultiDevice"))(
      several, 3, 0);
  std::vector<std::uint64_t> handles;
  for (const Told& one : told) handles.push_back(one.stream.handle);
  auto const handle = [](std::uintptr_t i) { return reinterpret_cast<std::uint64_t>(value<CUstream>(i)); };
  EXPECT_EQ(handles, (std::vector{handle(3), handle(4), handle(4), handle(5), handle(6), handle(7)}));
}

TEST_F(Order, DefaultStreamsAreToldByTheirKind) {
  listening().listen(note, Layers::Driver);
  auto const launch = reinterpret_cast<decltype(&cuLaunchHostFunc)>(exported("cuLaunchHostFunc"));
  auto const twin = reinterpret_cast<decltype(&cuLaunchHostFunc)>(exported("cuLaunchHostFunc_ptsz"));
  for (CUstream const stream : {CUstream{}, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD}) {
    launch(stream, nullptr, nullptr);
    twin(stream, nullptr, nullptr);
  }
  reinterpret_cast<decltype(&cuMemcpy)>(exported("cuMemcpy"))(0, 0, 0);
  reinterpret_cast<decltype(&cuMemcpy)>(exported("cuMemcpy_ptds"))(0, 0, 0);
  reinterpret_cast<decltype(&cuCtxSynchronize)>(exported("cuCtxSynchronize"))();
  std::vector<Kind> kinds;
  for (const Told& one : told) kinds.push_back(one.stream.kind);
  EXPECT_EQ(kinds, (std::vector{Kind::Legacy, Kind::PerThread, Kind::Legacy, Kind::Legacy, Kind::PerThread,
                                Kind::PerThread, Kind::Legacy, Kind::PerThread, Kind::None}));
}

TEST_F(Order, AChangeOfContextIsTold) {
  listening().listen(note, Layers::Driver);
  reinterpret_cast<decltype(&cuCtxSetCurrent)>(exported("cuCtxSetCurrent"))(value<CUcontext>(1));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].work, Work::Context);
  EXPECT_EQ(told[0].stream.kind, Kind::None);
}

TEST_F(Order, AListenerToTheDriverIsNotToldOfTheRuntime) {
  listening().listen(note, Layers::Driver);
  reinterpret_cast<decltype(&cudaDeviceSynchronize)>(exported("cudaDeviceSynchronize", "libcudart.so.13"))();
  EXPECT_TRUE(told.empty());
}

TEST_F(Order, ALaunchOfAGraphIsToldByItsHook) {
  listening().listen(note, Layers::Driver);
  reinterpret_cast<decltype(&cuGraphLaunch)>(exported("cuGraphLaunch"))(nullptr, value<CUstream>(1));
  reinterpret_cast<decltype(&cuGraphUpload)>(exported("cuGraphUpload_ptsz"))(nullptr, nullptr);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].work, Work::Graph);
  EXPECT_EQ(told[0].stream.handle, reinterpret_cast<std::uint64_t>(value<CUstream>(1)));
  EXPECT_EQ(told[1].stream.kind, Kind::PerThread);
}

TEST_F(Order, LookedUpNamesHaveDoorsOnlyWhileSomebodyListens) {
  void* const real = driver_.own("cuLaunchKernel");
  auto const ask = reinterpret_cast<decltype(&cuGetProcAddress_v2)>(dlsym(driver_.handle(), "cuGetProcAddress_v2"));
  auto const asked = [&](cuuint64_t flags) {
    void* found = nullptr;
    CUdriverProcAddressQueryResult status{};
    EXPECT_EQ(ask("cuLaunchKernel", &found, 13000, flags, &status), CUDA_SUCCESS);
    EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
    return found;
  };
  EXPECT_EQ(dlsym(driver_.handle(), "cuLaunchKernel"), real);
  EXPECT_FALSE(is_hook(asked(0)));
  void* const before = asked(0);

  listening().listen(note, Layers::Driver);
  EXPECT_EQ(dlsym(driver_.handle(), "cuLaunchKernel"), exported("cuLaunchKernel"));
  EXPECT_EQ(asked(0), exported("cuLaunchKernel"));
  EXPECT_EQ(asked(CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM), exported("cuLaunchKernel_ptsz"));
  EXPECT_FALSE(is_hook(dlsym(runtime_13_.handle(), "cudaLaunchKernel")));
  listening().listen(note, Layers::DriverAndRuntime);
  EXPECT_EQ(dlsym(runtime_13_.handle(), "cudaLaunchKernel"), exported("cudaLaunchKernel", "libcudart.so.13"));
  EXPECT_EQ(dlsym(runtime_12_.handle(), "cudaLaunchKernel"), exported("cudaLaunchKernel", "libcudart.so.12"));

  listening().listen(nullptr, Layers::Driver);
  EXPECT_EQ(dlsym(driver_.handle(), "cuLaunchKernel"), real);
  EXPECT_EQ(asked(0), before);
}

// The program is linked to both libraries: its calls arrive at the doors without any lookup.
TEST_F(Order, ALinkedProgramIsHeard) {
  listening().listen(note, Layers::DriverAndRuntime);
  cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, value<CUstream>(8), nullptr, nullptr);
  cudaLaunchKernel(nullptr, dim3(1), dim3(1), nullptr, 0, value<cudaStream_t>(5));
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].library, Library::Driver);
  EXPECT_EQ(told[0].stream.handle, reinterpret_cast<std::uint64_t>(value<CUstream>(8)));
  EXPECT_EQ(told[1].library, Library::Runtime13);
  EXPECT_EQ(told[1].stream.handle, reinterpret_cast<std::uint64_t>(value<CUstream>(5)));
}

// What a listener does of its own must not come back to it, and is counted.
TEST_F(Order, ACallOutOfTheListenerPassesAndIsCounted) {
  static auto const wait = reinterpret_cast<decltype(&cuStreamSynchronize)>(exported("cuStreamSynchronize"));
  listening().listen(
      [](const order::Submission& s) {
        note(s);
        wait(nullptr);
      },
      Layers::Driver);
  std::uint64_t const before = listening().untold_calls();
  reinterpret_cast<decltype(&cuStreamQuery)>(exported("cuStreamQuery"))(nullptr);
  EXPECT_EQ(told.size(), 1u);
  EXPECT_EQ(listening().untold_calls(), before + 1);
  FakeCall seen{};
  EXPECT_EQ(driver_.calls(seen), 2);
}

TEST_F(Order, DoorsOpenAndCloseWhileOtherThreadsPassThrough) {
  std::atomic<bool> done{false};
  auto const wait = reinterpret_cast<decltype(&cuStreamSynchronize)>(exported("cuStreamSynchronize"));
  std::vector<std::thread> threads;
  std::atomic<int> arrived{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      int made = 0;
      for (; !done; ++made) wait(value<CUstream>(1));
      FakeCall seen{};
      if (driver_.calls(seen) == made) ++arrived;
    });
  for (int i = 0; i < 2000; ++i)
    listening().listen(i % 2 == 0 ? [](const order::Submission&) {} : order::Listener{}, Layers::Driver);
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(arrived, 4);
}

TEST_F(Order, AFunctionThatTheTableDoesNotHaveIsReported) {
  auto const ask = reinterpret_cast<decltype(&cuGetProcAddress_v2)>(dlsym(driver_.handle(), "cuGetProcAddress_v2"));
  void* found = nullptr;
  EXPECT_EQ(ask("cuInit", &found, 13000, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(listening().unknown_function(), nullptr);
  auto const replaced = driver_.replace(
      "cuGetProcAddress_v2", +[](const char*, void** function, int, cuuint64_t, CUdriverProcAddressQueryResult*) {
        *function = reinterpret_cast<void*>(&note);
        return CUDA_SUCCESS;
      });
  EXPECT_EQ(ask("cuStreamInvented", &found, 99000, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(found, reinterpret_cast<void*>(&note));
  EXPECT_STREQ(listening().unknown_function(), "cuStreamInvented");
}

}  // namespace
}  // namespace tidemark::doors
