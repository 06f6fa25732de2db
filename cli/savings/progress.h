// SPDX-License-Identifier: Apache-2.0
// How far it is, on stderr: a line that moves on a terminal, elsewhere a line per part of the work.
#pragma once
#include <chrono>
#include <cstddef>
#include <string>

namespace tidemark::cli {

class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // A part of the work: how many steps it has, as far as is known.
  void begin(std::string part, std::size_t steps);
  void more(std::size_t steps) { steps_ += steps; }
  void doing(std::string what);
  void step() { ++done_; }
  void tick();
  // The line is taken away.
  void end();

 private:
  void draw();

  using Clock = std::chrono::steady_clock;
  bool terminal_ = false, drawn_ = false;
  std::size_t width_ = 80;
  std::string part_, what_;
  std::size_t steps_ = 0, done_ = 0;
  Clock::time_point began_ = Clock::now();
};

}  // namespace tidemark::cli
