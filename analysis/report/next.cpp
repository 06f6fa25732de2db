// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/next.h"

#include <algorithm>

#include "analysis/report/words.h"

namespace tidemark::analysis::report {
namespace {

class Next {
 public:
  Next(const Summary& s, const TextOptions& o) : s_(s), o_(o) {}

  std::vector<Hint> hints() {
    if (shown().live_bytes != 0) {
      if (!s_.layers_named) nameless();
      more_rows();
      if (s_.layers_named && s_.stacks_recorded && o_.by != By::Stack) add("by call site", {"--by", "stack"});
      another_step();
    }
    add("every figure, for programs", {"--format", "json"});
    hints_.resize(std::min<std::size_t>(hints_.size(), 3));
    return std::move(hints_);
  }

 private:
  const Anatomy& shown() const { return s_.at ? *s_.at : s_.peak; }

  void add(const char* why, const std::vector<std::string>& more) {
    std::vector<std::string> words{"tidemark", "report", s_.source.path};
    words.insert(words.end(), o_.question.begin(), o_.question.end());
    words.insert(words.end(), more.begin(), more.end());
    hints_.emplace_back(command_text(words), why);
  }

  // A program that says nothing about itself: where its memory is asked for is known all the same.
  void nameless() {
    if (!s_.stacks_recorded)
      hints_.emplace_back("tidemark run --stacks ...", "then report --by stack: by call site");
    else if (o_.by != By::Stack)
      add("by call site", {"--by", "stack"});
    hints_.emplace_back("NVTX ranges, or tidemark_push(TIDEMARK_LAYER, \"name\")", "in the program name its layers");
  }

  void more_rows() {
    Anatomy const& a = shown();
    struct Table {
      By by;
      std::size_t rows;
      const char* name;
      const char* why;
    };
    for (Table const& t : {Table{By::Layer, a.by_layer.size(), "layer", "more layers"},
                           Table{By::Step, a.by_step.size(), "step", "more steps"},
                           Table{By::Stack, a.by_stack.size(), "stack", "more call sites"}})
      if (t.rows > o_.top && o_.by.value_or(By::Layer) == t.by)
        add(t.why, {"--by", t.name, "--top", std::to_string(std::min(t.rows, std::max<std::size_t>(4 * o_.top, 4)))});
  }

  // One of which the tables above do not tell.
  void another_step() {
    bool const one_step = std::find(o_.question.begin(), o_.question.end(), "--step") != o_.question.end();
    if (s_.at || one_step) return;
    std::uint64_t const from = s_.folded ? s_.folded->steps_until : 0;
    for (std::size_t i = s_.steps.size(); i-- > from;)
      if (s_.steps[i].step != s_.peak.step)
        return add("the peak of one step", {"--at", "step:" + std::to_string(s_.steps[i].step)});
  }

  const Summary& s_;
  const TextOptions& o_;
  std::vector<Hint> hints_;
};

}  // namespace

std::vector<Hint> next_hints(const Summary& summary, const TextOptions& options) {
  return Next(summary, options).hints();
}

}  // namespace tidemark::analysis::report
