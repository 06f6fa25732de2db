// SPDX-License-Identifier: Apache-2.0
#include "analysis/replay/lifetimes.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "analysis/history.h"
#include "base/bytes.h"
#include "trace/read/trace.h"

namespace tidemark::analysis {

namespace {

constexpr std::string_view kHeader = "op,id,bytes,stream,t_us";
constexpr std::size_t kMostText = std::size_t{1} << 31;
constexpr const char* kHint = "replay reads a .tide, or a CSV with the columns op,id,bytes,stream,t_us (also .gz)";

// Reads plain files too.
Result<std::string> read_text(const std::string& path) {
  std::unique_ptr<gzFile_s, int (*)(gzFile)> const file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) return Error{Errc::NotFound, path + ": cannot be opened", ""};
  std::string text;
  std::array<char, 1 << 16> part{};
  int n = 0;
  while ((n = gzread(file.get(), part.data(), static_cast<unsigned>(part.size()))) > 0) {
    text.append(part.data(), static_cast<std::size_t>(n));
    if (text.size() > kMostText) return Error{Errc::LimitExceeded, path + ": too long", ""};
  }
  if (n < 0) return Error{Errc::Corrupt, path + ": cannot be read to its end", ""};
  return text;
}

struct Row {
  char op = 0;
  std::uint64_t id = 0;
  std::uint64_t bytes = 0;
};

bool number(std::string_view& line, std::uint64_t& value) {
  auto const [stop, failure] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (failure != std::errc{}) return false;
  line.remove_prefix(static_cast<std::size_t>(stop - line.data()));
  if (!line.empty() && line[0] == ',') line.remove_prefix(1);
  return true;
}

bool parse_row(std::string_view line, Row& row) {
  if (line.size() < 2 || line[1] != ',') return false;
  row.op = line[0];
  line.remove_prefix(2);
  return number(line, row.id) && number(line, row.bytes);
}

Result<Lifetimes> parse_table(const std::string& path, std::string_view text) {
  Lifetimes result;
  std::unordered_map<std::uint64_t, std::uint32_t> live;
  std::size_t line_number = 1;
  text.remove_prefix(std::min(text.size(), text.find('\n') + 1));
  while (!text.empty()) {
    std::size_t const end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    ++line_number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty()) continue;
    Row row;
    if (!parse_row(line, row) || std::string_view("abrf").find(row.op) == std::string_view::npos)
      return Error{Errc::Corrupt, path + ":" + std::to_string(line_number) + ": not a row of the table", kHint};
    if (row.op == 'a' || row.op == 'b') {
      auto const block = static_cast<std::uint32_t>(result.bytes.size());
      if (row.bytes == 0 || !live.emplace(row.id, block).second) continue;
      result.bytes.push_back(row.bytes);
      result.operations.push_back({block, false});
    } else if (row.op == 'f') {
      auto const found = live.find(row.id);
      if (found == live.end()) continue;  // of a block from before the window
      result.operations.push_back({found->second, true});
      live.erase(found);
    }
  }
  return result;
}

Result<Lifetimes> from_trace(const std::string& path) {
  TIDEMARK_TRY(trace::Trace const trace, trace::Trace::open(path));
  History const history = read_history(trace);
  Lifetimes result;
  std::vector<std::uint32_t> number(history.blocks.size());
  for (Change const& change : history.changes) {
    const Block& block = history.blocks[change.block];
    if (!counts_in_live(block) || block.size_bytes == 0) continue;
    if (change.freed == 0) {
      number[change.block] = static_cast<std::uint32_t>(result.bytes.size());
      result.bytes.push_back(block.size_bytes);
    }
    result.operations.push_back({number[change.block], change.freed != 0});
  }
  return result;
}

}  // namespace

std::uint64_t Lifetimes::peak_live_bytes() const {
  std::uint64_t live = 0;
  std::uint64_t peak = 0;
  for (Operation const& operation : operations) {
    std::uint64_t const rounded = round_up(bytes[operation.block], kLiveGranule);
    live += operation.free ? 0 - rounded : rounded;
    peak = std::max(peak, live);
  }
  return peak;
}

Result<Lifetimes> read_lifetimes(const std::string& path) {
  if (path.ends_with(".tide")) return from_trace(path);
  TIDEMARK_TRY(std::string const text, read_text(path));
  if (!text.starts_with(kHeader)) return Error{Errc::Corrupt, path + ": not a table of allocations", kHint};
  return parse_table(path, text);
}

}  // namespace tidemark::analysis
