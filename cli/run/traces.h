// SPDX-License-Identifier: Apache-2.0
// The traces that the processes of one launch have written: each process appends its own to a list when it starts one.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace tidemark::cli {

// A file of a private name, removed with the object.
class TraceList {
 public:
  static Result<TraceList> create();
  TraceList(TraceList&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  TraceList& operator=(TraceList&&) = delete;
  ~TraceList();
  const std::string& path() const { return path_; }

  struct Entry {
    std::string written;  // where the trace is; empty: there is none
    std::string wanted;   // where it was to be, or why there is none
  };
  std::vector<Entry> read() const;

 private:
  explicit TraceList(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Writes down how the process ended, if the trace is its own.
void note_end(const std::string& trace, pid_t process, int status);
// A trace that had to be written elsewhere (a file system that cannot promise space) goes where it was to be, in place
// of its link; the path at which it is in the end.
Result<std::string> bring_home(const TraceList::Entry& entry);

}  // namespace tidemark::cli
