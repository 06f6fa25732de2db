// SPDX-License-Identifier: Apache-2.0
// Stacks written into a trace, and the same ones as the compiler's own unwinder sees them.
#pragma once
#include <dlfcn.h>
#include <unwind.h>

#include <memory>

#include "interpose/stack/stacks.h"
#include "tests/unit/trace/fixture.h"

namespace tidemark::interpose {

using Addresses = std::vector<std::uint64_t>;

// Without memory from the heap: it is called in signal handlers.
struct Found {
  std::uint64_t at[12'000];
  std::size_t count = 0;
};
inline void by_compiler(Found& found) {
  found.count = 0;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* to) -> _Unwind_Reason_Code {
        int interrupted = 0;
        std::uint64_t const address = _Unwind_GetIPInfo(context, &interrupted) + (interrupted != 0 ? 1 : 0);
        auto& all = *static_cast<Found*>(to);
        if (address > 1 && all.count < std::size(all.at)) all.at[all.count++] = address;
        return _URC_NO_REASON;
      },
      &found);
}

class StackTest : public testing::Test {
 protected:
  StackTest() {
    EXPECT_TRUE(names_.start(file_));
    EXPECT_TRUE(stacks_->start(file_, nullptr).ok());
    current = this;
  }
  ~StackTest() override { current = nullptr; }

  trace::Trace read() const { return trace::read_back(file_.path()); }
  Addresses frames(std::uint32_t id) const { return read().names().stack(id); }

  // What a shape calls. Ours begins in Stacks::here and goes on in this function; theirs begins in this function.
  [[gnu::noinline]] static void look() {
    by_compiler(found_);
    current->id_ = current->stacks_->here(current->names_);
  }
  static Addresses theirs() { return Addresses(found_.at + 2, found_.at + found_.count); }
  [[gnu::noinline]] static void look_alone() { current->id_ = current->stacks_->here(current->names_); }
  // The walk and the compiler's agree from the shape on.
  void expect_same(const char* what) const {
    Addresses const ours = frames(id_), expected = theirs();
    trace::StackEnd const end = read().names().stack_end(id_);
    ASSERT_GT(ours.size(), 3u) << what;
    Addresses const from_shape(ours.begin() + 2, ours.end());
    if (end == trace::StackEnd::Cut) {
      ASSERT_EQ(ours.size(), Stacks::kMostFrames) << what;
      ASSERT_GT(expected.size(), from_shape.size());
      EXPECT_EQ(from_shape,
                Addresses(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(from_shape.size())));
    } else {
      EXPECT_EQ(end, trace::StackEnd::Whole) << what;
      EXPECT_EQ(from_shape, expected) << what;
    }
  }

  static inline StackTest* current = nullptr;
  trace::Folder folder_;
  trace::File& file_ = trace::make_file(folder_.file("a.tide"));
  trace::Dictionary names_;
  std::unique_ptr<Stacks> stacks_ = std::make_unique<Stacks>();
  std::uint32_t id_ = 0;
  static inline Found found_;
};

}  // namespace tidemark::interpose
