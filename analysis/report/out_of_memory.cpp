// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/out_of_memory.h"

#include <algorithm>

#include "analysis/report/words.h"

namespace tidemark::analysis::report {
namespace {

constexpr std::size_t kIndent = 2, kMostFrames = 8;

std::size_t spaces(std::string_view text) {
  return std::min(text.find_first_not_of(' '), text.size());
}

// Where the lines that follow a long one begin: below its text, behind the word that stands before it or a dash.
std::size_t hang_of(std::string_view line) {
  constexpr std::size_t kLongestWord = 12;
  std::size_t const begin = spaces(line);
  if (line.substr(begin).starts_with("- ")) return begin + 2;
  std::size_t const gap = line.find("  ", begin);
  if (gap == std::string_view::npos || gap > begin + kLongestWord) return begin + 2;
  return gap + spaces(line.substr(gap));
}

template <class F>
void for_each_line(std::string_view text, F f) {
  while (!text.empty()) {
    std::size_t const end = std::min(text.find('\n'), text.size());
    f(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void write_page(Page& page, const FailureRow& failure, bool whole) {
  for_each_line(failure.post_mortem, [&](std::string_view line) {
    if (!whole && !line.substr(spaces(line)).starts_with("verdict ")) return;
    std::string const text = std::string(kIndent, ' ') + clean(line);
    page.line(text, hang_of(text));
  });
}

void write_calls(Page& page, const FailureRow& failure) {
  if (failure.frames.empty()) return;
  page.raw("  asked for by");
  std::size_t const count = failure.frames.size(), shown = std::min(count, kMostFrames);
  for (std::size_t i = 0; i < shown; ++i)
    page.raw("    " + fit(clean(failure.frames[i]), page.options().width - 4, page.options().unicode));
  if (shown < count) page.raw("    " + count_text(count - shown, "call", "calls") + " more");
}

}  // namespace

void write_failures(Page& page, const Summary& s, bool whole) {
  const FailureRow* const shown = last_explained(s);
  if (shown == nullptr) return;
  std::uint64_t const count = failure_count(s);
  std::string const which = shown == &s.failures.back() ? "the last:" : "the last that was explained:";
  page.gap();
  page.raw(page.in(Ink::Bad, "Out of memory") +
           (count > 1 ? "  " + count_text(count) + " failed allocations, " + which : ""));
  page.line("  " + bytes_text(shown->requested_bytes) + " were asked for, " + bytes_text(shown->free_bytes) +
                " free on device " + std::to_string(shown->device) + ", at " + instant_text(shown->time_ns) +
                place_text(shown->step, shown->phase, shown->layer),
            4);
  write_page(page, *shown, whole);
  if (whole) write_calls(page, *shown);
}

}  // namespace tidemark::analysis::report
