// SPDX-License-Identifier: Apache-2.0
#include "cli/savings/progress.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "analysis/report/words.h"
#include "base/env.h"
#include "cli/output.h"

namespace tidemark::cli {
namespace {

void put(const std::string& text) {
  [[maybe_unused]] ssize_t const n = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1 && env_text("TERM").value_or("dumb") != "dumb") {
  winsize size{};
  if (terminal_ && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20) width_ = size.ws_col;
}

Progress::~Progress() {
  end();
}

void Progress::begin(std::string part, std::size_t steps) {
  part_ = std::move(part);
  what_.clear();
  steps_ = steps;
  done_ = 0;
  if (terminal_) return draw();
  std::chrono::duration<double> const spent = Clock::now() - began_;
  talk(fmt::format("tidemark savings: {} [{:.0f} s]", part_, spent.count()));
}

void Progress::doing(std::string what) {
  what_ = std::move(what);
  tick();
}

void Progress::tick() {
  if (terminal_) draw();
}

void Progress::draw() {
  std::chrono::duration<double> const spent = Clock::now() - began_;
  std::string const line = fmt::format("{:3.0f} s  {} {}/{}  {}", spent.count(), part_, done_, steps_, what_);
  put("\r\033[K" + analysis::report::fit(line, width_ - 1, false));
  drawn_ = true;
}

void Progress::end() {
  if (drawn_) put("\r\033[K");
  drawn_ = false;
}

}  // namespace tidemark::cli
