// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/text.h"

#include <fmt/core.h>

#include <algorithm>

#include "analysis/report/caches.h"
#include "analysis/report/largest.h"
#include "analysis/report/next.h"
#include "analysis/report/out_of_memory.h"
#include "analysis/report/page.h"
#include "analysis/report/table.h"
#include "analysis/report/words.h"

namespace tidemark::analysis::report {
namespace {

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string text;
  for (std::string const& part : parts) {
    if (part.empty()) continue;
    if (!text.empty()) text += between;
    text += part;
  }
  return text;
}

class TextReport {
 public:
  TextReport(const Summary& summary, const TextOptions& options) : s_(summary), page_(options) {}

  std::string make() {
    losses();
    heading();
    write_failures(page_, s_, s_.filter.empty() && !s_.at && !page_.options().by);
    if (!page_.options().by && !s_.at) write_late_frees(page_, s_);
    if (s_.peak.live_bytes == 0) {
      page_.gap();
      page_.line(s_.filter.empty() ? "No device memory was allocated." : "No device memory matches the filter.");
    } else {
      peak();
      tables(s_.at ? *s_.at : s_.peak);
      if (!page_.options().by) steps();
    }
    if (!page_.options().by) classes();
    if (!page_.options().by && !s_.at && s_.filter.empty()) write_caches(page_, s_);
    next();
    return page_.take();
  }

 private:
  std::string separator() const { return page_.options().unicode ? " · " : ", "; }

  // What is missing comes before every figure that it may be missing from.
  void losses() {
    if (s_.source.missing_bytes != 0)
      warn("The file is cut off: its last " + bytes_text(s_.source.missing_bytes) +
           " are missing, and so is what they recorded. Was it copied to its end?");
    if (s_.source.lost_events != 0) {
      std::vector<std::string> reasons;
      for (auto const& [why, count] : s_.source.lost) reasons.push_back(count_text(count) + " " + why);
      warn(count_text(s_.source.lost_events, "event is", "events are") + " not in this trace (" +
           joined(reasons, ", ") + "): the figures below may be too low.");
    }
    if (s_.source.state == Source::State::Open || s_.source.signal != 0)
      warn(ending() + ": this is the account up to its last recorded event.");
    if (s_.source.state == Source::State::Stopped)
      warn("Recording ended before the program did: what came later is not in this trace.");
    if (s_.folded) folded();
    std::vector<std::string> odd;
    for (auto const& [what, count] : s_.source.oddities) odd.push_back(what + ": " + count_text(count));
    if (!odd.empty()) warn("The trace is not consistent (" + joined(odd, "; ") + ").");
  }
  std::string ending() const {
    if (s_.source.signal != 0) return "The program was ended by " + signal_text(s_.source.signal);
    if (s_.source.exit_code) return "The program ended at once, with code " + std::to_string(*s_.source.exit_code);
    return "The program was killed, or still runs";
  }
  void folded() {
    std::uint64_t const end_ns = s_.source.duration_ns, until_ns = s_.folded->until_ns;
    std::string text = "Of this run the last " + duration_text(std::max(end_ns, until_ns) - until_ns) +
                       " are there event by event; what came before is sums. Totals and steps are of the whole run, "
                       "tables, peaks and chart of that last part.";
    if (s_.peak_live_bytes > s_.peak.live_bytes) {
      text += " Before it live bytes were higher: " + bytes_text(s_.peak_live_bytes);
      if (s_.folded->peak_step) text += ", in step " + std::to_string(*s_.folded->peak_step);
      text += ".";
    }
    warn(text);
  }
  void warn(const std::string& text) { page_.line((page_.options().unicode ? "⚠ " : "! ") + text, 2, Ink::Warning); }

  void heading() {
    Source const& source = s_.source;
    page_.gap();
    std::string const path = clean(source.path);
    page_.raw(page_.in(Ink::Bold, fit(path, page_.options().width, page_.options().unicode)));
    if (!source.command.empty())
      page_.raw("  " + fit(clean(command_text(source.command)), page_.options().width - 2, page_.options().unicode));
    page_.line("  " +
               joined({source.signal != 0 ? signal_text(source.signal)
                       : source.exit_code ? "exit " + std::to_string(*source.exit_code)
                                          : "",
                       duration_text(source.duration_ns), "mode " + source.mode,
                       source.process == 0 ? "" : "process " + std::to_string(source.process),
                       count_text(s_.totals.allocations, "allocation", "allocations"),
                       s_.totals.driver_allocations == 0
                           ? ""
                           : count_text(s_.totals.driver_allocations, "driver allocation", "driver allocations")},
                      separator()));
    if (auto const why = source.facts.find("mode.observe"); why != source.facts.end())
      page_.line((source.mode == "cache" ? "  later observed, not served: " : "  observed, not served: ") +
                 clean(why->second));
    for (DeviceRow const& d : s_.devices) device(d);
    if (!s_.filter.empty()) page_.line("  only what matches is counted: " + clean(s_.filter), 4, Ink::Bold);
  }

  void device(const DeviceRow& d) {
    std::string text = fmt::format("  device {}: {}", d.number, d.name.empty() ? "(not named)" : clean(d.name));
    if (d.software) text += d.dry_run ? " (software, dry run)" : " (software)";
    if (d.total_bytes) text += ", " + bytes_text(*d.total_bytes);
    if (d.limit_bytes) text += ", limited to " + bytes_text(*d.limit_bytes);
    if (s_.devices.size() > 1) text += ", peak live " + bytes_text(d.peak_live_bytes);
    page_.line(text, 4);
  }

  void peak() {
    Anatomy const& p = s_.peak;
    page_.gap();
    page_.raw(page_.in(Ink::Bold, "Peak live  " + bytes_text(p.live_bytes)));
    page_.line("  at " + instant_text(p.time_ns) + place_text(p.step, p.phase, p.layer), 4);
    figure("requested", p.requested_bytes, "largest " + bytes_text(s_.peak_requested_bytes), "");
    figure("reserved", p.reserved_bytes, "largest " + bytes_text(s_.peak_reserved_bytes), reserved_remark());
    figure("at the end", s_.end_live_bytes, "live", "");
    page_.chart(s_.timeline, p.time_ns, {s_.folded ? s_.folded->begin_ns : 0, s_.source.duration_ns});
  }
  void figure(std::string_view name, std::uint64_t bytes, const std::string& more, const std::string& remark) {
    std::string const line = "  " + pad_right(name, 11) + pad_left(bytes_text(bytes), 11) + "   " + pad_right(more, 19);
    page_.line(remark.empty() ? line.substr(0, line.find_last_not_of(' ') + 1) : line + " " + remark, 4);
  }
  std::string reserved_remark() const {
    if (s_.partial) return "by the whole program";
    if (!s_.reserved_from_driver) return "sum of the blocks: no word of the driver's";
    double const ratio = static_cast<double>(s_.peak.reserved_bytes) / static_cast<double>(s_.peak.live_bytes);
    std::uint64_t total = 0;
    bool limited = false;
    for (DeviceRow const& d : s_.devices) {
      total += d.limit_bytes.value_or(d.total_bytes.value_or(0));
      limited = limited || d.limit_bytes;
    }
    std::string const of = limited ? " of the limit" : s_.devices.size() > 1 ? " of the devices" : " of the device";
    return fmt::format("{:.3f} x live", ratio) +
           (total == 0 ? "" : separator() + percent_text(s_.peak.reserved_bytes, total) + of);
  }

  void tables(const Anatomy& a) {
    std::string when = "at the peak";
    if (s_.at)
      when = "at " + (s_.at_step ? "the peak of step " + std::to_string(*s_.at_step) + ", " : "") +
             instant_text(a.time_ns) + ": " + bytes_text(a.live_bytes) + " live, " + bytes_text(a.reserved_bytes) +
             " reserved";
    auto const by = page_.options().by;
    if (!by || *by == By::Kind) table("By kind", when + kinds_known(a), "kind", a.by_kind, a.live_bytes);
    if (!by || *by == By::Layer) table("By layer", when, "layer", a.by_layer, a.live_bytes);
    if (by == By::Phase) table("By phase of allocation", when, "phase", a.by_phase, a.live_bytes);
    if (by == By::Step) table("By step of allocation", when, "step", a.by_step, a.live_bytes);
    if (by == By::Stack) stacks(a, when);
    if (!by) write_largest(page_, a, when);
  }

  static std::string kinds_known(const Anatomy& a) {
    if (a.kind_given_bytes + a.kind_inferred_bytes == 0) return ", none was given";
    std::string text = ", kinds given for " + percent_text(a.kind_given_bytes, a.live_bytes);
    if (a.kind_inferred_bytes != 0) text += ", inferred for " + percent_text(a.kind_inferred_bytes, a.live_bytes);
    return text;
  }

  void table(std::string_view title, const std::string& when, std::string_view what, const std::vector<Row>& rows,
             std::uint64_t whole) {
    page_.heading(title, when);
    bool const activations =
        what == "layer" && std::any_of(rows.begin(), rows.end(), [](const Row& r) { return r.activation_bytes != 0; });
    Table table(page_, activations ? std::vector<Column>{{what, false}, {"live"}, {"share"}, {"activation"}, {"blocks"}}
                                   : std::vector<Column>{{what, false}, {"live"}, {"share"}, {"blocks"}});
    auto const put = [&](const std::string& name, const Row& r, Bar bar) {
      std::vector<std::string> cells{name, bytes_text(r.live_bytes), percent_text(r.live_bytes, whole)};
      if (activations) cells.push_back(r.activation_bytes == 0 ? "-" : bytes_text(r.activation_bytes));
      cells.push_back(count_text(r.blocks));
      table.row(std::move(cells), bar);
    };
    std::size_t const shown = std::min(rows.size(), page_.options().top);
    Row rest;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Row const& r = rows[i];
      if (i < shown) {
        put(clean(r.name), r, {r.live_bytes, whole});
        continue;
      }
      rest.live_bytes += r.live_bytes;
      rest.activation_bytes += r.activation_bytes;
      rest.blocks += r.blocks;
    }
    if (shown < rows.size()) put("(" + count_text(rows.size() - shown) + " more)", rest, {});
    table.print();
  }

  // A stack is too much for a row: its figures, and the calls below them, innermost first.
  void stacks(const Anatomy& a, const std::string& when) {
    constexpr std::size_t kFrames = 12;
    page_.heading("By call stack", when);
    if (!s_.stacks_recorded) return page_.line("  No call stacks were recorded: tidemark run --stacks -- PROG ARGS", 4);
    std::size_t const shown = std::min(a.by_stack.size(), page_.options().top), width = page_.options().width;
    for (std::size_t i = 0; i < shown; ++i) {
      Row const& r = a.by_stack[i];
      std::string const bar = page_.bar(r.live_bytes, a.live_bytes, page_.bar_width());
      page_.raw(figures(r.live_bytes, r.blocks, a.live_bytes) + (bar.empty() ? "" : "  " + bar));
      if (r.frames.empty()) page_.raw("    " + clean(r.name));
      for (std::size_t f = 0; f < std::min(r.frames.size(), kFrames); ++f)
        page_.raw("    " + fit(clean(r.frames[f]), width - 4, page_.options().unicode));
      if (r.frames.size() > kFrames)
        page_.raw("    " + count_text(r.frames.size() - kFrames, "call", "calls") + " more");
    }
    Row rest;
    for (std::size_t i = shown; i < a.by_stack.size(); ++i) {
      rest.live_bytes += a.by_stack[i].live_bytes;
      rest.blocks += a.by_stack[i].blocks;
    }
    if (shown == a.by_stack.size()) return;
    page_.raw(figures(rest.live_bytes, rest.blocks, a.live_bytes) + "  (" +
              count_text(a.by_stack.size() - shown, "more stack", "more stacks") + ")");
  }
  static std::string figures(std::uint64_t bytes, std::uint64_t blocks, std::uint64_t whole) {
    return "  " + pad_left(bytes_text(bytes), 11) + pad_left(percent_text(bytes, whole), 9) +
           pad_left(count_text(blocks, "block", "blocks"), 16);
  }

  // All of a few; of many the first, those around the highest, and the last.
  void steps() {
    if (s_.steps.empty()) return;
    auto const highest = std::max_element(s_.steps.begin(), s_.steps.end(), [](const StepRow& a, const StepRow& b) {
      return a.peak_live_bytes < b.peak_live_bytes;
    });
    std::uint64_t count = 0;
    for (StepRow const& row : s_.steps) count += std::max(row.last_step, row.step) - row.step + 1;
    page_.heading("Steps", count_text(count, "step", "steps") + ", highest in step " + std::to_string(highest->step) +
                               "; step " + std::to_string(s_.steps.back().last_step) +
                               " reaches to the end of the run");
    Table table(page_, {{"step", false}, {"peak live"}, {"live at end"}, {"allocations"}, {"time"}});
    auto const most = static_cast<std::ptrdiff_t>(std::max<std::size_t>(page_.options().top, 3));
    std::ptrdiff_t skipped_before = 0;
    for (auto i = s_.steps.begin(); i != s_.steps.end(); ++i) {
      bool const shown = std::ssize(s_.steps) <= most || i - s_.steps.begin() < most / 2 ||
                         s_.steps.end() - i <= (most - 1) / 2 || i == highest;
      if (!shown) {
        ++skipped_before;
        continue;
      }
      if (skipped_before > 0) table.row({page_.options().unicode ? "⋮" : "...", "", "", "", ""});
      skipped_before = 0;
      std::string const number = std::to_string(i->step);
      table.row({i->last_step <= i->step ? number : number + "-" + std::to_string(i->last_step),
                 bytes_text(i->peak_live_bytes), bytes_text(i->end_live_bytes), count_text(i->allocations),
                 duration_text(i->end_ns - i->begin_ns)},
                Bar{i->peak_live_bytes, highest->peak_live_bytes});
    }
    table.print();
  }

  // Of interest where it is not all plain device memory.
  void classes() {
    bool const plain = s_.classes.empty() || (s_.classes.size() == 1 && s_.classes[0].name == "device");
    if (plain) return;
    page_.heading("Classes of memory", "each at its own peak");
    Table table(page_, {{"class", false}, {"peak"}, {"at the end"}, {"allocations"}});
    for (ClassRow const& c : s_.classes)
      table.row({c.name, bytes_text(c.peak_bytes), bytes_text(c.end_bytes), count_text(c.allocations)},
                page_.options().width >= 90 ? remark(c.name) : "");
    table.print();
  }
  static std::string remark(const std::string& name) {
    if (name == "pinned" || name == "registered") return "host memory, not in live";
    if (name == "managed") return "where it was touched last, not in live";
    if (name == "reservation") return "addresses only";
    if (name == "mapping") return "counted as physical";
    if (name == "imported") return "another process's bytes";
    if (name == "tensor") return "inside the framework's blocks";
    return "";
  }

  void next() {
    std::vector<Hint> const lines = next_hints(s_, page_.options());
    page_.heading("Next");
    std::size_t width = 0;
    for (auto const& line : lines) width = std::max(width, columns(clean(line.first)));
    for (auto const& [what, why] : lines) {
      std::string const text = clean(what);
      if (width + 4 + why.size() + 2 <= page_.options().width)
        page_.raw("  " + pad_right(text, width) + "  " + page_.in(Ink::Dim, why));
      else
        page_.raw("  " + text);
    }
  }

  const Summary& s_;
  Page page_;
};

}  // namespace

std::size_t chart_points(const TextOptions& options) {
  return Page::chart_points(options);
}

std::string text_report(const Summary& summary, const TextOptions& options) {
  return TextReport(summary, options).make();
}

std::string text_overview(const std::vector<Summary>& summaries, const TextOptions& options) {
  std::vector<const Summary*> order;
  order.reserve(summaries.size());
  for (Summary const& s : summaries) order.push_back(&s);
  std::stable_sort(order.begin(), order.end(),
                   [](const Summary* a, const Summary* b) { return a->peak_live_bytes > b->peak_live_bytes; });
  Page page(options);
  page.heading(count_text(summaries.size(), "process", "processes"), "the one with the highest peak first");
  Table table(page, {{"trace", false}, {"process"}, {"peak live"}, {"reserved"}, {"lost events"}});
  std::uint64_t const highest = order.empty() ? 0 : order.front()->peak_live_bytes;
  for (const Summary* s : order)
    table.row({clean(s->source.path), std::to_string(s->source.process), bytes_text(s->peak_live_bytes),
               bytes_text(s->peak.reserved_bytes), count_text(s->source.lost_events)},
              Bar{s->peak_live_bytes, highest});
  table.print();
  return page.take();
}

}  // namespace tidemark::analysis::report
