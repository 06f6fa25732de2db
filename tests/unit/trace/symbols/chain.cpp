// SPDX-License-Identifier: Apache-2.0
// A library with a known chain of calls. Built with and without optimisation and debug information.
#define EXPORTED __attribute__((visibility("default")))
extern "C" {
EXPORTED extern const int chain_lines[4];  // of the calls below, innermost first
EXPORTED void chain_run(void (*call)());
}

namespace chain {
namespace {

#define AFTER asm volatile("" ::: "memory")
int const kInlined = __LINE__ + 3;

[[gnu::always_inline]] inline void inlined(void (*call)()) {
  call();
  AFTER;
}

int const kMiddle = __LINE__ + 3;

[[gnu::noinline, gnu::noipa]] void middle(void (*call)()) {
  inlined(call);
  AFTER;
}

}  // namespace

template <class T>
struct Box {
  static int line() { return __LINE__ + 2; }
  [[gnu::noinline, gnu::noipa]] void open(T, void (*call)()) {
    middle(call);
    AFTER;
  }
};

}  // namespace chain

int const kRun = __LINE__ + 3;

void chain_run(void (*call)()) {
  chain::Box<int>().open(1, call);
  AFTER;
}

__attribute__((visibility("default")))
const int chain_lines[4] = {chain::kInlined, chain::kMiddle, chain::Box<int>::line(), kRun};
