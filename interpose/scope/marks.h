// SPDX-License-Identifier: Apache-2.0
// One thread's open layers and phases. Before the first CUDA call there is no trace to name them in: the text is kept
// and gets its numbers once there is one.
//
// For its own thread only; lives in pages of its own, from the thread's first mark until the thread ends. Layers deeper
// than the stack is are counted, so that pops stay in step, and are taken as a part of the innermost one.
#pragma once
#include <cstdint>
#include <string_view>

#include "trace/write/dictionary.h"
#include "trace/write/lane.h"

namespace tidemark::interpose {

class Marks {
 public:
  // The calling thread's; null when the system gives no memory.
  static Marks* mine();

  // `range` lets a layer be closed by name, out of turn; 0 for plain ones.
  void push_layer(std::string_view name, std::uint64_t range = 0);
  void pop_layer();
  // Closes the innermost layer that was opened with this range; false when there is none.
  bool close_range(std::uint64_t range);
  void push_phase(trace::Phase phase);
  void pop_phase();

  // Gives numbers to what has none yet, and the innermost one.
  std::uint32_t path(trace::Dictionary& names);
  trace::Phase phase() const;

 private:
  struct Layer {
    std::uint32_t path;      // 0: not named yet
    std::uint32_t text_end;  // of the dotted name up to here
    std::uint64_t range;
  };
  static constexpr std::size_t kDepth = 256;
  static constexpr std::size_t kText = 8192;
  std::string_view full_name() const { return {text_, layers() == 0 ? 0 : layers_[layers() - 1].text_end}; }
  std::size_t layers() const { return depth_ < kDepth ? depth_ : kDepth; }
  std::size_t phases() const { return phase_depth_ < kDepth ? phase_depth_ : kDepth; }

  std::size_t depth_ = 0, named_ = 0, phase_depth_ = 0;
  Layer layers_[kDepth];
  trace::Phase phases_[kDepth];
  char text_[kText];
};

}  // namespace tidemark::interpose
