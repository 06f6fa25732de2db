// SPDX-License-Identifier: Apache-2.0
#include "cli/run/traces.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "trace/format/layout.h"

namespace tidemark::cli {

namespace fs = std::filesystem;

Result<TraceList> TraceList::create() {
  std::error_code failure;
  std::string path = (fs::temp_directory_path(failure) / "tidemark-run-XXXXXX").string();
  int const file = mkostemp(path.data(), O_CLOEXEC);
  if (file < 0)
    return Error{Errc::Io, path + ": " + std::strerror(errno), "set TMPDIR to a folder that can be written"};
  close(file);
  return TraceList(std::move(path));
}

TraceList::~TraceList() {
  if (!path_.empty()) unlink(path_.c_str());
}

// Pairs of texts with a zero byte behind each.
std::vector<TraceList::Entry> TraceList::read() const {
  std::ifstream file(path_, std::ios::binary);
  std::string const text((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t const end = std::min(text.find('\0', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  std::vector<Entry> entries;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) entries.push_back({words[i], words[i + 1]});
  return entries;
}

void note_end(const std::string& trace, pid_t process, int status) {
  int const file = open(trace.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  trace::FileHeader header;
  auto const whole = static_cast<ssize_t>(sizeof header);
  if (pread(file, &header, sizeof header, 0) == whole && header.magic == trace::kMagic &&
      header.pid == static_cast<std::uint32_t>(process)) {
    [[maybe_unused]] ssize_t const n =
        pwrite(file, &status, sizeof status, static_cast<off_t>(offsetof(trace::FileHeader, exit_status)));
  }
  close(file);
}

namespace {

// A copy first, and then its name: whoever looks finds the link or the whole trace. The mode is copied too.
std::error_code replace(const std::string& link, const std::string& trace) {
  std::string const copy = link + ".part";
  std::error_code failure, ignored;
  fs::copy_file(trace, copy, fs::copy_options::overwrite_existing, failure);
  if (!failure) fs::rename(copy, link, failure);
  fs::remove(failure ? copy : trace, ignored);
  return failure;
}

}  // namespace

Result<std::string> bring_home(const TraceList::Entry& entry) {
  if (entry.written == entry.wanted) return entry.written;
  std::error_code ignored;
  bool const nothing_there = !fs::exists(fs::symlink_status(entry.wanted, ignored));
  bool const its_link = fs::read_symlink(entry.wanted, ignored) == entry.written;
  std::error_code const failure =
      nothing_there || its_link ? replace(entry.wanted, entry.written) : std::make_error_code(std::errc::file_exists);
  if (failure)
    return Error{Errc::Io, entry.wanted + ": " + failure.message(), "the trace is in memory still: " + entry.written};
  return entry.wanted;
}

}  // namespace tidemark::cli
