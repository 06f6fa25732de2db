// SPDX-License-Identifier: Apache-2.0
// A program that uses NVTX, with the injection linked into it, and a recording whose blocks are made up.
#include <nvtx3/nvToolsExt.h>
#include <stdlib.h>
#include <tidemark/tidemark.h>

#include <atomic>
#include <barrier>
#include <nvtx3/nvtx3.hpp>
#include <thread>

#include "interpose/process/process.h"
#include "interpose/record/recorder.h"
#include "tests/unit/trace/fixture.h"

namespace tidemark::interpose {
namespace {

nvtxEventAttributes_t event(int type, nvtxMessageValue_t message) {
  nvtxEventAttributes_t e{};
  e.version = NVTX_VERSION;
  e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  e.messageType = type;
  e.message = message;
  return e;
}
nvtxEventAttributes_t ascii(const char* text) {
  return event(NVTX_MESSAGE_TYPE_ASCII, {.ascii = text});
}
nvtxEventAttributes_t wide(const wchar_t* text) {
  return event(NVTX_MESSAGE_TYPE_UNICODE, {.unicode = text});
}
nvtxEventAttributes_t registered(nvtxStringHandle_t handle) {
  return event(NVTX_MESSAGE_TYPE_REGISTERED, {.registered = handle});
}

// One recording for all tests: there is one per process.
class NvtxTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    unsetenv("NVTX_INJECTION64_PATH");  // so that the one in this program is taken
    // Before there is a trace.
    nvtxRangePushA("early");
    nvtxRangePushA("forward");
    nvtxRangePushA("conv0");
    folder_ = new trace::Folder;
    setenv("TIDEMARK_OUT", folder_->file("a.tide").c_str(), 1);
    setenv("TIDEMARK_SUMMARY", "0", 1);
    ASSERT_TRUE(start_recording());
    early_ = block();
    for (int i = 0; i < 3; ++i) nvtxRangePop();
  }
  static void TearDownTestSuite() { delete folder_; }

  // A block that this thread allocates here, by its address.
  static std::uint64_t block() {
    static std::atomic<std::uint64_t> next{1};
    std::uint64_t const address = next++ << 12;
    EXPECT_TRUE(shield([&] { recorder().allocated({.address = address, .size_bytes = 512}); }));
    return address;
  }
  // "phase:layer" of a block.
  static std::string place(std::uint64_t address) {
    trace::Trace const trace = trace::read_back(recorder().file().path());
    for (trace::Event const& e : trace::events_of(trace, trace::Event::Type::Alloc))
      if (e.address == address)
        return std::string(name(static_cast<trace::Phase>(e.context.phase))) + ":" +
               trace.names().path(e.context.scope);
    return "not found";
  }
  static std::uint64_t step(std::uint64_t address) {
    trace::Trace const trace = trace::read_back(recorder().file().path());
    for (trace::Event const& e : trace::events_of(trace, trace::Event::Type::Alloc))
      if (e.address == address) return e.context.step;
    return ~std::uint64_t{0};
  }
  static std::string here() { return place(block()); }

  static inline trace::Folder* folder_ = nullptr;
  static inline std::uint64_t early_ = 0;
};

TEST_F(NvtxTest, RangesBeforeTheFirstCallAreKept) {
  EXPECT_EQ(place(early_), "forward:early.conv0");
  EXPECT_EQ(here(), "other:");
}

TEST_F(NvtxTest, PushedRangesAreLayersOfEveryKindOfMessage) {
  nvtxStringHandle_t const narrow = nvtxDomainRegisterStringA(nullptr, "registered"),
                           broad = nvtxDomainRegisterStringW(nullptr, L"registered \u00fc");
  nvtxRangePushA("a");
  nvtxRangePushW(L"b\u00e9\U0001f600");
  auto e = ascii("c");
  nvtxRangePushEx(&e);
  e = wide(L"d");
  nvtxRangePushEx(&e);
  e = registered(narrow);
  nvtxRangePushEx(&e);
  e = registered(broad);
  nvtxRangePushEx(&e);
  EXPECT_EQ(here(), "other:a.b\u00e9\U0001f600.c.d.registered.registered \u00fc");
  for (int i = 0; i < 3; ++i) nvtxRangePop();
  EXPECT_EQ(here(), "other:a.b\u00e9\U0001f600.c");
  for (int i = 0; i < 3; ++i) nvtxRangePop();
  EXPECT_EQ(here(), "other:");
}

TEST_F(NvtxTest, MessagesThatAreNoneKeepTheirPlace) {
  nvtxRangePushA("outer");
  nvtxRangePushA(nullptr);
  nvtxRangePushW(nullptr);
  nvtxRangePushEx(nullptr);
  auto e = ascii(nullptr);
  nvtxRangePushEx(&e);
  e = event(77, {});
  nvtxRangePushEx(&e);
  e = registered(nullptr);
  nvtxRangePushEx(&e);
  e = registered(reinterpret_cast<nvtxStringHandle_t>(0x1234));
  nvtxRangePushEx(&e);
  e = ascii("of an older structure");
  e.size = 16;
  nvtxRangePushEx(&e);
  nvtxRangePushA("inner");
  EXPECT_EQ(here(), "other:outer.inner");
  for (int i = 0; i < 9; ++i) nvtxRangePop();
  EXPECT_EQ(here(), "other:outer");
  nvtxRangePop();
  EXPECT_EQ(here(), "other:");
  nvtxRangePop();
  nvtxRangePop();
  EXPECT_EQ(here(), "other:") << "more pops than pushes";
}

TEST_F(NvtxTest, InvalidCharactersAreReplaced) {
  wchar_t const text[] = {L'x', static_cast<wchar_t>(0xd800), static_cast<wchar_t>(0x7fffffff), L'y', L'\0'};
  nvtxRangePushW(text);
  EXPECT_EQ(here(), "other:x\ufffd\ufffdy");
  nvtxRangePop();
}

TEST_F(NvtxTest, PushAnswersAsWithoutATool) {
  EXPECT_EQ(nvtxRangePushA("x"), NVTX_NO_PUSH_POP_TRACKING);
  EXPECT_EQ(nvtxRangePop(), NVTX_NO_PUSH_POP_TRACKING);
}

TEST_F(NvtxTest, DomainsHaveStacksOfTheirOwn) {
  nvtxDomainHandle_t const one = nvtxDomainCreateA("one"), two = nvtxDomainCreateW(L"two");
  ASSERT_NE(one, nullptr);
  ASSERT_NE(one, two);
  auto e = ascii("a");
  nvtxDomainRangePushEx(one, &e);
  e = ascii("b");
  nvtxDomainRangePushEx(two, &e);
  nvtxRangePushA("c");
  nvtxDomainRangePop(one);
  EXPECT_EQ(here(), "other:a.b.c");
  nvtxRangePop();
  EXPECT_EQ(here(), "other:a.b");
  nvtxRangePop();
  EXPECT_EQ(here(), "other:a.b") << "the default domain has none left";
  nvtxDomainRangePop(two);
  EXPECT_EQ(here(), "other:");
  e = ascii("default");
  nvtxDomainRangePushEx(nullptr, &e);
  EXPECT_EQ(here(), "other:default");
  nvtxRangePop();
  EXPECT_EQ(here(), "other:") << "no domain is the default one";
  nvtxDomainDestroy(one);
  nvtxDomainDestroy(two);
}

TEST_F(NvtxTest, ALibrarysDomainMeansNothing) {
  nvtxDomainHandle_t const cub = nvtxDomainCreateA("CCCL");
  nvtxRangePushA("mine");
  auto e = ascii("cub::DeviceReduce::Sum");
  nvtxDomainRangePushEx(cub, &e);
  EXPECT_EQ(here(), "other:mine");
  nvtxDomainRangePop(cub);
  EXPECT_EQ(here(), "other:mine");
  nvtxRangePop();
}

TEST_F(NvtxTest, PhasesAndLayersNest) {
  nvtxRangePushA("forward");
  EXPECT_EQ(here(), "forward:");
  nvtxRangePushA("conv1");
  EXPECT_EQ(here(), "forward:conv1");
  nvtxRangePop();
  EXPECT_EQ(here(), "forward:");
  nvtxRangePop();
  nvtxRangePushA("model");
  nvtxRangePushA("Backward pass");
  EXPECT_EQ(here(), "backward:model");
  nvtxRangePop();
  EXPECT_EQ(here(), "other:model");
  nvtxRangePop();
}

TEST_F(NvtxTest, StepsAreCountedByTheirRanges) {
  for (int i : {7, 8}) {
    nvtxRangePushA(("iteration " + std::to_string(i)).c_str());
    nvtxRangePushA("conv1");
    std::uint64_t const at = block();
    EXPECT_EQ(place(at), "other:conv1");
    EXPECT_EQ(step(at), static_cast<std::uint64_t>(i));
    nvtxRangePop();
    nvtxRangePop();
  }
  tidemark_step(100);
  nvtxRangePushA("iteration 9");
  EXPECT_EQ(step(block()), 100u) << "the program says it itself";
  nvtxRangePop();
}

TEST_F(NvtxTest, StartedRangesMayOverlap) {
  nvtxRangeId_t const a = nvtxRangeStartA("a");
  auto e = ascii("b");
  nvtxDomainHandle_t const domain = nvtxDomainCreateA("a domain");
  nvtxRangeId_t const b = nvtxDomainRangeStartEx(domain, &e);
  EXPECT_NE(a, b);
  EXPECT_EQ(here(), "other:a.b");
  nvtxRangeEnd(a);
  EXPECT_EQ(here(), "other:a.b");
  nvtxRangeId_t const c = nvtxRangeStartW(L"forward");
  EXPECT_EQ(here(), "forward:a.b");
  nvtxDomainRangeEnd(domain, b);
  EXPECT_EQ(here(), "forward:");
  nvtxRangeEnd(c);
  EXPECT_EQ(here(), "other:");
  nvtxRangeEnd(c);
  nvtxRangeEnd(0);
  nvtxRangeEnd(123456789);
  EXPECT_EQ(here(), "other:") << "what is not open is not ended";
}

TEST_F(NvtxTest, AStartedRangeIsEndedByAnotherThread) {
  nvtxRangeId_t const layer = nvtxRangeStartA("started"), phase = nvtxRangeStartA("backward");
  EXPECT_EQ(here(), "backward:started");
  std::thread([&] {
    EXPECT_EQ(here(), "other:") << "it belongs to the thread that started it";
    nvtxRangePushA("elsewhere");
    nvtxRangeEnd(layer);
    EXPECT_EQ(here(), "other:elsewhere");
    nvtxRangePop();
  }).join();
  EXPECT_EQ(here(), "backward:");
  std::thread([&] { nvtxRangeEnd(phase); }).join();
  nvtxRangePushA("next");
  EXPECT_EQ(here(), "other:next") << "a mark notices it too";
  nvtxRangePop();
}

TEST_F(NvtxTest, ARangeMayOutliveItsThread) {
  nvtxRangeId_t left = 0;
  std::thread([&] { left = nvtxRangeStartA("left open"); }).join();
  std::thread([&] {
    nvtxRangePushA("new owner of the marks");
    nvtxRangeEnd(left);
    EXPECT_EQ(here(), "other:new owner of the marks");
    nvtxRangePop();
  }).join();
}

TEST_F(NvtxTest, MixesWithTheApi) {
  tidemark_push(TIDEMARK_LAYER, "api");
  nvtxRangePushA("nvtx");
  EXPECT_EQ(here(), "other:api.nvtx");
  tidemark_pop(TIDEMARK_LAYER);
  EXPECT_EQ(here(), "other:api.nvtx");
  nvtxRangePop();
  EXPECT_EQ(here(), "other:");
}

struct my_domain {
  static constexpr char const* name = "from C++";
};

TEST_F(NvtxTest, TheCppInterfaceIsTheSame) {
  nvtx3::scoped_range const outer("scoped");
  {
    nvtx3::scoped_range_in<my_domain> const inner(nvtx3::registered_string_in<my_domain>("in a domain"));
    nvtx3::unique_range const unique("unique");
    EXPECT_EQ(here(), "other:scoped.in a domain.unique");
  }
  EXPECT_EQ(here(), "other:scoped");
}

TEST_F(NvtxTest, ManyThreadsKeepTheirOwnStacks) {
  constexpr int kThreads = 16, kRounds = 200;
  std::vector<std::vector<std::uint64_t>> blocks(kThreads);
  std::vector<nvtxRangeId_t> ranges(kThreads);
  std::barrier meet(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      auto const at = static_cast<std::size_t>(t);
      std::string const name = "thread" + std::to_string(t);
      for (int i = 0; i < kRounds; ++i) {
        nvtxRangePushA(name.c_str());
        ranges[at] = nvtxRangeStartA("crossing");
        meet.arrive_and_wait();
        nvtxRangeEnd(ranges[(at + 1) % kThreads]);  // somebody else's
        meet.arrive_and_wait();
        nvtxRangePushA("inner");
        blocks[at].push_back(block());
        nvtxRangePop();
        nvtxRangePop();
      }
    });
  for (auto& thread : threads) thread.join();
  trace::Trace const trace = trace::read_back(recorder().file().path());
  std::map<std::uint64_t, std::string> paths;
  for (trace::Event const& e : trace::events_of(trace, trace::Event::Type::Alloc))
    paths[e.address] = trace.names().path(e.context.scope);
  for (std::size_t t = 0; t < kThreads; ++t)
    for (std::uint64_t const address : blocks[t])
      ASSERT_EQ(paths[address], "thread" + std::to_string(t) + ".inner") << address;
}

}  // namespace
}  // namespace tidemark::interpose
