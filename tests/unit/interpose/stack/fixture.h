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

inline Addresses by_compiler() {
  Addresses found;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* to) -> _Unwind_Reason_Code {
        int interrupted = 0;
        std::uint64_t const address = _Unwind_GetIPInfo(context, &interrupted) + (interrupted != 0 ? 1 : 0);
        if (address > 1) static_cast<Addresses*>(to)->push_back(address);
        return _URC_NO_REASON;
      },
      &found);
  return found;
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
    Addresses const theirs = by_compiler();
    current->id_ = current->stacks_->here(current->names_);
    current->theirs_ = Addresses(theirs.begin() + 2, theirs.end());
  }
  [[gnu::noinline]] static void look_alone() { current->id_ = current->stacks_->here(current->names_); }
  // The walk and the compiler's agree from the shape on.
  void expect_same(const char* what) const {
    Addresses const ours = frames(id_);
    trace::StackEnd const end = read().names().stack_end(id_);
    ASSERT_GT(ours.size(), 3u) << what;
    Addresses const from_shape(ours.begin() + 2, ours.end());
    if (end == trace::StackEnd::Cut) {
      ASSERT_EQ(ours.size(), Stacks::kMostFrames) << what;
      ASSERT_GT(theirs_.size(), from_shape.size());
      EXPECT_EQ(from_shape,
                Addresses(theirs_.begin(), theirs_.begin() + static_cast<std::ptrdiff_t>(from_shape.size())));
    } else {
      EXPECT_EQ(end, trace::StackEnd::Whole) << what;
      EXPECT_EQ(from_shape, theirs_) << what;
    }
  }

  static inline StackTest* current = nullptr;
  trace::Folder folder_;
  trace::File& file_ = trace::make_file(folder_.file("a.tide"));
  trace::Dictionary& names_ = *new trace::Dictionary;  // its tables are mapped until the end
  Stacks* stacks_ = new Stacks;
  std::uint32_t id_ = 0;
  Addresses theirs_;
};

}  // namespace tidemark::interpose
