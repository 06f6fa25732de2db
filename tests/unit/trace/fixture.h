// SPDX-License-Identifier: Apache-2.0
// A trace written into a folder of its own and read back.
#pragma once
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include "trace/read/trace.h"
#include "trace/write/dictionary.h"
#include "trace/write/lane.h"

namespace tidemark::trace {

class Folder {
 public:
  Folder() {
    std::string pattern = testing::TempDir() + "tide-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Files are mapped until the process ends, so they are kept.
inline File& make_file(const File::Options& options) {
  static auto& kept = *new std::vector<File*>;
  File& file = *kept.emplace_back(new File);
  auto const made = file.create(options);
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().what);
  return file;
}
inline File& make_file(const std::string& path, Clock clock = Clock::pick()) {
  return make_file({.path = path, .clock = clock});
}

inline std::vector<Event> all_events(const Trace& trace) {
  std::vector<Event> events;
  for (std::size_t i = 0; i < trace.event_chunks(); ++i) trace.decode_chunk(i, events);
  return events;
}

inline std::vector<Event> events_of(const Trace& trace, Event::Type type) {
  std::vector<Event> events = all_events(trace);
  std::erase_if(events, [&](const Event& e) { return e.type != type; });
  return events;
}

inline Trace read_back(const std::string& path) {
  auto trace = Trace::open(path);
  if (!trace.ok()) {
    ADD_FAILURE() << trace.error().what;
    std::abort();
  }
  return std::move(*trace);
}

}  // namespace tidemark::trace
