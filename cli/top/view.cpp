// SPDX-License-Identifier: Apache-2.0
#include "cli/top/view.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/bytes.h"

namespace tidemark::cli {
namespace {

constexpr std::size_t kBar = 24;

std::string bar(std::uint64_t part, std::uint64_t whole, const TopStyle& style) {
  std::size_t const full = whole == 0 ? 0 : std::min<std::uint64_t>(kBar, (part * kBar + whole / 2) / whole);
  std::string text;
  for (std::size_t i = 0; i < kBar; ++i) text += style.unicode ? (i < full ? "█" : "░") : (i < full ? "#" : ".");
  if (!style.colour) return text;
  int const colour = full * 10 >= kBar * 9 ? 31 : full * 10 >= kBar * 7 ? 33 : 32;
  return fmt::format("\x1b[{}m{}\x1b[0m", colour, text);
}

std::string bytes(std::uint64_t n) {
  return format_bytes({n});
}

// The end of a path says more than its beginning.
std::string tail(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : "..." + text.substr(text.size() - (width - 3));
}

std::string device_line(const DeviceUse& d, const TopStyle& style) {
  double const share =
      d.total_bytes == 0 ? 0 : 100.0 * static_cast<double>(d.used_bytes) / static_cast<double>(d.total_bytes);
  return fmt::format("device {}  {:<28} {} {:>10} of {} ({:.0f} %)\n", d.number, d.name.substr(0, 28),
                     bar(d.used_bytes, d.total_bytes, style), bytes(d.used_bytes), bytes(d.total_bytes), share);
}

std::string process_line(const ProcessUse& p, std::size_t width) {
  std::string line = fmt::format("{:>8}  {:<16} {:>11}", p.pid, p.program.substr(0, 16),
                                 p.device_bytes == 0 ? "-" : bytes(p.device_bytes));
  if (!p.recorded) return line + "  not recorded\n";
  line += fmt::format(" {:>11} {:>11} {:>11} {:>10}  ", bytes(p.live_bytes), bytes(p.peak_live_bytes),
                      bytes(p.reserved_bytes), p.allocations);
  return line + tail(p.trace, std::max<std::size_t>(width, line.size() + 12) - line.size()) + "\n";
}

}  // namespace

std::string render(const TopView& view, const TopStyle& style) {
  std::string text;
  for (DeviceUse const& d : view.devices) text += device_line(d, style);
  if (view.devices.empty()) text += "no device: " + view.no_devices + "\n";
  text += "\n" + fmt::format("{:>8}  {:<16} {:>11} {:>11} {:>11} {:>11} {:>10}  {}\n", "process", "program",
                             "on device", "live", "peak live", "reserved", "allocations", "trace");
  for (ProcessUse const& p : view.processes) text += process_line(p, style.width);
  if (view.processes.empty()) text += "  no process is recorded now: tidemark run -- ./train\n";
  bool const recorded =
      std::any_of(view.processes.begin(), view.processes.end(), [](const ProcessUse& p) { return p.recorded; });
  if (recorded) text += "\nallocations are of every class, host memory too; a report counts those on the device\n";
  return text;
}

}  // namespace tidemark::cli
