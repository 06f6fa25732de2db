// SPDX-License-Identifier: Apache-2.0
// Stacks are taken in the middle of somebody else's program: nothing that it does may end it.
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <atomic>
#include <thread>

#include "tests/unit/interpose/stack/fixture.h"
#include "tests/unit/interpose/stack/shapes.h"

extern "C" {
// For plugin.cpp.
__attribute__((visibility("default"))) void (*plugin_constructor_calls)() = nullptr;

// Code whose table says that its frame is 16 MiB large, and one whose table goes round in a circle.
void with_too_large_a_frame(void (*call)());
void with_a_frame_of_no_size(void (*call)());
// Its frame is found by a register that is not followed.
void by_another_register(void (*call)());
// What lies before its first instruction belongs to another function.
void faults_at_once(const char*);
}
asm(R"(
    .text
with_too_large_a_frame:
    .cfi_startproc
    subq $8, %rsp
    .cfi_adjust_cfa_offset 16777216
    call *%rdi
    addq $8, %rsp
    ret
    .cfi_endproc
by_another_register:
    .cfi_startproc
    pushq %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_offset %rbx, -16
    movq %rsp, %rbx
    .cfi_def_cfa %rbx, 16
    andq $-64, %rsp
    call *%rdi
    movq %rbx, %rsp
    .cfi_def_cfa %rsp, 16
    popq %rbx
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
faults_at_once:
    .cfi_startproc
    movb (%rdi), %al
    ret
    .cfi_endproc
with_a_frame_of_no_size:
    .cfi_startproc
    subq $8, %rsp
    .cfi_def_cfa_offset 0
    call *%rdi
    addq $8, %rsp
    ret
    .cfi_endproc
)");

namespace tidemark::interpose {
namespace {

using trace::StackEnd;

class Hazard : public StackTest {
 protected:
  StackEnd end() const { return read().names().stack_end(id_); }
  // The signal, handled on the thread's stack or on one of its own.
  static void handle(int flags) {
    struct sigaction action {};
    action.sa_handler = [](int) { kShapesO2.aligned(look); };
    action.sa_flags = flags;
    sigaction(SIGUSR1, &action, nullptr);
  }
  ~Hazard() override { signal(SIGUSR1, SIG_DFL); }
};

void interrupt() {
  raise(SIGUSR1);
}

TEST_F(Hazard, ASignalHandlersStackGoesOnInTheInterruptedCode) {
  handle(0);
  kShapesO2.deep(interrupt, 5);
  expect_same("in a handler");
  EXPECT_GT(theirs().size(), 12u);
}

TEST_F(Hazard, ASignalHandlerMayHaveAStackOfItsOwn) {
  static char memory[256 * 1024];
  stack_t const own{.ss_sp = memory, .ss_flags = 0, .ss_size = sizeof memory};
  stack_t before{};
  ASSERT_EQ(sigaltstack(&own, &before), 0);
  handle(SA_ONSTACK);
  for (int i = 0; i < 3; ++i) {
    kShapesO2.deep(interrupt, 5);
    expect_same("in a handler on its own stack");
    kShapesO2.plain(look);
    expect_same("back on the thread's");
  }
  sigaltstack(&before, nullptr);
}

TEST_F(Hazard, AFunctionMayBeInterruptedAtItsFirstInstruction) {
  static char* page;
  page = static_cast<char*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) {
    kShapesO2.plain(look);
    mprotect(page, 4096, PROT_READ);
  };
  sigaction(SIGSEGV, &action, &before);
  faults_at_once(page);
  sigaction(SIGSEGV, &before, nullptr);
  expect_same("in a handler of a fault");
  Addresses const ours = frames(id_);
  EXPECT_NE(std::find(ours.begin(), ours.end(), reinterpret_cast<std::uintptr_t>(faults_at_once) + 1), ours.end());
  munmap(page, 4096);
}

TEST_F(Hazard, AStackThatTheProgramMadeItselfIsWalked) {
  constexpr std::size_t kBytes = 128 * 1024;
  void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ucontext_t here{}, there{};
  getcontext(&there);
  there.uc_stack = {.ss_sp = memory, .ss_flags = 0, .ss_size = kBytes};
  there.uc_link = &here;
  makecontext(
      &there, [] { kShapesO2.deep(look, 3); }, 0);
  swapcontext(&here, &there);
  munmap(memory, kBytes);
  Addresses const ours = frames(id_);
  Addresses const expected = theirs();
  ASSERT_GE(ours.size(), 2 + expected.size());
  EXPECT_EQ(Addresses(ours.begin() + 2, ours.begin() + 2 + static_cast<std::ptrdiff_t>(expected.size())), expected);
}

TEST_F(Hazard, CodeMadeAtRunTimeEndsAStackAndIsNamed) {
  // sub $8,%rsp; call *%rdi; add $8,%rsp; ret
  constexpr unsigned char kCode[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x08, 0xc3};
  void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(page, kCode, sizeof kCode);
  ASSERT_EQ(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
  reinterpret_cast<void (*)(Call)>(page)([] { kShapesO2.plain(look); });
  Addresses const ours = frames(id_);
  EXPECT_EQ(end(), StackEnd::NoTable);
  ASSERT_GE(ours.size(), 4u);
  EXPECT_EQ(ours.back(), reinterpret_cast<std::uintptr_t>(page) + 6);
  EXPECT_EQ(read().names().object_at(id_, ours.back()), nullptr);
  munmap(page, 4096);
}

TEST_F(Hazard, AFrameThatNeedsMoreThanTwoRegistersIsLeftToTheCompilersUnwinder) {
  kShapesO2.plain([] { by_another_register(look); });
  Addresses const ours = frames(id_);
  ASSERT_GT(ours.size(), theirs().size());
  EXPECT_EQ(Addresses(ours.end() - static_cast<std::ptrdiff_t>(theirs().size()), ours.end()), theirs());
  EXPECT_EQ(end(), StackEnd::Whole);
}

TEST_F(Hazard, TablesThatLieEndAStack) {
  for (auto const lie : {with_too_large_a_frame, with_a_frame_of_no_size}) {
    std::thread([lie] { lie(look_alone); }).join();
    EXPECT_NE(id_, 0u);
    EXPECT_LE(frames(id_).size(), Stacks::kMostFrames);
  }
  EXPECT_EQ(end(), StackEnd::NoTable);
}

TEST_F(Hazard, NothingIsReadThatIsNotReadable) {
  auto* const pages =
      static_cast<char*>(mmap(nullptr, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_EQ(mprotect(pages + 2 * 4096, 4096, PROT_NONE), 0);
  auto const begin = reinterpret_cast<std::uintptr_t>(pages);
  EXPECT_TRUE(is_readable(begin));
  EXPECT_FALSE(is_readable(begin + 2 * 4096));
  EXPECT_FALSE(is_readable(8));
  Window window;
  window.begin_at(begin + 512);
  std::uintptr_t word = 1;
  EXPECT_TRUE(window.read(begin + 4096 + 8, word));
  EXPECT_EQ(word, 0u);
  EXPECT_FALSE(window.read(begin + 2 * 4096, word)) << "a guard page";
  EXPECT_FALSE(window.read(begin + 4096 + 12, word)) << "no stack is like that";
  EXPECT_FALSE(window.read(begin - 8, word)) << "below";
  EXPECT_FALSE(window.read(~std::uintptr_t{7}, word));
  EXPECT_TRUE(window.read(begin + 16, word)) << "what is known stays known";
  munmap(pages, 3 * 4096);
}

struct Plugin {
  explicit Plugin(const char* path) : handle(dlopen(path, RTLD_NOW)) {
    EXPECT_NE(handle, nullptr) << dlerror();
    run = reinterpret_cast<void (*)(Call)>(dlsym(handle, "plugin_run"));
  }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;
  ~Plugin() { dlclose(handle); }
  void* handle;
  void (*run)(Call);
};

TEST_F(Hazard, ALibraryThatTakesAnothersAddressesIsAnotherLibrary) {
  std::uint32_t ids[2] = {};
  void* places[2] = {};
  // Nothing promises that the second one comes to lie where the first was; it does, unless something took the place.
  for (int attempt = 0; attempt < 20 && (places[0] == nullptr || places[0] != places[1]); ++attempt)
    for (int i = 0; i < 2; ++i) {
      {
        Plugin const plugin(i == 0 ? PLUGIN_LARGE : PLUGIN_SMALL);
        places[i] = reinterpret_cast<void*>(plugin.run);
        plugin.run(look);
        expect_same("in a plugin");
        ids[i] = id_;
      }
      stacks_->forget();
    }
  ASSERT_EQ(places[0], places[1]);
  trace::Trace const trace = read();
  EXPECT_NE(ids[0], ids[1]);
  std::uint64_t const address = trace.names().stack(ids[0])[2];
  const trace::CodeObject *const first = trace.names().object_at(ids[0], address), *const second =
                                                                                       trace.names().object_at(ids[1],
                                                                                                               address);
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(first->path, PLUGIN_LARGE);
  EXPECT_EQ(second->path, PLUGIN_SMALL);
}

TEST_F(Hazard, AStackIsTakenInAConstructorDuringDlopen) {
  plugin_constructor_calls = [] { look(); };
  { Plugin const plugin(PLUGIN_SMALL); }
  plugin_constructor_calls = nullptr;
  expect_same("in a constructor");
  std::string paths;
  trace::Trace const trace = read();
  for (trace::CodeObject const& object : trace.names().objects()) paths += object.path + "\n";
  EXPECT_NE(paths.find(PLUGIN_SMALL), std::string::npos) << paths;
  EXPECT_NE(paths.find("ld-linux"), std::string::npos) << paths;
}

TEST_F(Hazard, SixteenThreadsGetTheirOwnStacksWhileCodeIsForgotten) {
  constexpr int kThreads = 16, kRounds = 300;
  struct Result {
    std::uint32_t id;
    Addresses frames;
  };
  static constinit thread_local Result* result = nullptr;
  static Stacks* shared;
  static trace::Dictionary* shared_names;
  shared = stacks_.get();
  shared_names = &names_;
  Call const look_here = [] {
    static thread_local Found found;
    by_compiler(found);
    *result = {shared->here(*shared_names), Addresses(found.at + 2, found.at + found.count)};
  };
  std::vector<std::vector<Result>> results(kThreads);
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      Result mine;
      result = &mine;
      for (int i = 0; i < kRounds; ++i) {
        switch ((i + t) % 4) {
          case 0: kShapesO2.deep(look_here, i % 40); break;
          case 1: kShapesO0.aligned(look_here); break;
          case 2: kShapesO2FramePointer.variable(look_here, 5000); break;
          default: kShapesO2.through_library(look_here); break;
        }
        results[static_cast<std::size_t>(t)].push_back(mine);
      }
      --running;
    });
  while (running.load() > 0) {
    stacks_->forget();
    std::this_thread::yield();
  }
  for (auto& thread : threads) thread.join();
  trace::Trace const trace = read();
  for (auto const& of_thread : results)
    for (Result const& r : of_thread) {
      Addresses const ours = trace.names().stack(r.id);
      ASSERT_GT(ours.size(), 2u);
      ASSERT_EQ(Addresses(ours.begin() + 2, ours.end()), r.frames);
    }
}

TEST_F(Hazard, GenerationsMayGoRound) {
  kShapesO2.plain(look);
  std::uint32_t const before = id_;
  for (std::uint64_t i = 0; i < 2 * Rules::kGenerations + 5; ++i) stacks_->forget();
  for (int i = 0; i < 2; ++i) {
    kShapesO2.plain(look);
    expect_same("after many generations");
  }
  EXPECT_NE(before, 0u);
}

}  // namespace
}  // namespace tidemark::interpose
