// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/plan/buffer_csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_set>

namespace tidemark::plan {
namespace {

constexpr std::array<std::string_view, 4> kColumns{"id", "lower", "upper", "size"};

Error at_line(std::size_t line, const std::string& what, const std::string& hint) {
  return {Errc::Corrupt, "line " + std::to_string(line) + ": " + what, hint};
}

// A field as it can be shown: short, and nothing that moves a terminal's cursor.
std::string shown(std::string_view field) {
  std::string text;
  for (char const c : field.substr(0, 40)) text += c >= ' ' && c < 0x7f ? c : '?';
  return "'" + text + (field.size() > 40 ? "...'" : "'");
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  std::size_t const first = text.find_first_not_of(kBlank);
  return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// The fields of a line; none if a quote is not closed or is followed by more.
std::optional<std::vector<std::string>> fields_of(std::string_view line) {
  std::vector<std::string> fields;
  for (;;) {
    std::string field;
    std::size_t const first = line.find_first_not_of(" \t");
    if (first != line.npos && line[first] == '"') {
      std::size_t i = first + 1;
      for (; i < line.size(); ++i) {
        if (line[i] == '"' && (i + 1 == line.size() || line[i + 1] != '"')) break;
        if (line[i] == '"') ++i;  // doubled: one of them is meant
        field += line[i];
      }
      if (i >= line.size()) return std::nullopt;
      line = line.substr(i + 1);
      std::size_t const comma = line.find(',');
      if (!trimmed(line.substr(0, comma)).empty()) return std::nullopt;
      fields.push_back(std::move(field));
      if (comma == line.npos) return fields;
      line = line.substr(comma + 1);
      continue;
    }
    std::size_t const comma = line.find(',');
    fields.emplace_back(trimmed(line.substr(0, comma)));
    if (comma == line.npos) return fields;
    line = line.substr(comma + 1);
  }
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  auto const [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || failure != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

// Takes the next line that is not blank, and counts.
bool next_line(std::string_view& text, std::string_view& line, std::size_t& count) {
  while (!text.empty()) {
    std::size_t const end = text.find('\n');
    line = text.substr(0, end);
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
    ++count;
    if (!trimmed(line).empty()) return true;
  }
  return false;
}

using Places = std::array<std::size_t, kColumns.size()>;

Result<Places> read_header(std::string_view line, std::size_t count) {
  auto const names = fields_of(line);
  Places places{};
  for (std::size_t c = 0; c < kColumns.size(); ++c) {
    std::size_t const n = names ? static_cast<std::size_t>(std::count(names->begin(), names->end(), kColumns[c])) : 0;
    if (n != 1)
      return at_line(count, (n == 0 ? "no column " : "more than one column ") + std::string(kColumns[c]),
                     "the first line names the columns: id,lower,upper,size");
    places[c] = static_cast<std::size_t>(std::find(names->begin(), names->end(), kColumns[c]) - names->begin());
  }
  return places;
}

Result<Buffer> read_row(const std::vector<std::string>& fields, const Places& places, std::size_t count) {
  std::array<std::uint64_t, 4> values{};
  for (std::size_t c = 1; c < kColumns.size(); ++c) {
    auto const value = number(fields[places[c]]);
    if (!value)
      return at_line(count, std::string(kColumns[c]) + " is " + shown(fields[places[c]]) + ", not a whole number",
                     "times and sizes are whole numbers from 0 on");
    values[c] = *value;
  }
  if (values[1] >= values[2])
    return at_line(count, "the buffer ends before it begins",
                   "lower is the first instant, upper the one after the last");
  return Buffer{.lower = values[1], .upper = values[2], .size_bytes = values[3]};
}

std::string quoted(const std::string& id) {
  if (id.find_first_of(",\" \t\r") == id.npos && !id.empty()) return id;
  std::string text = "\"";
  for (char const c : id) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + '"';
}

}  // namespace

Result<BufferTable> read_buffers(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::string_view line;
  std::size_t count = 0;
  if (!next_line(text, line, count))
    return Error{Errc::Corrupt, "there is nothing in it", "the first line names the columns: id,lower,upper,size"};
  TIDEMARK_TRY(Places const places, read_header(line, count));
  std::size_t const columns = *std::max_element(places.begin(), places.end()) + 1;
  BufferTable table;
  std::unordered_set<std::string> known;
  while (next_line(text, line, count)) {
    auto fields = fields_of(line);
    if (!fields) return at_line(count, "a quote is not closed", "quote a field as a whole, and double quotes within");
    if (fields->size() < columns)
      return at_line(count, "there are " + std::to_string(fields->size()) + " fields where the header has more",
                     "each line has a field for each column");
    TIDEMARK_TRY(Buffer const buffer, read_row(*fields, places, count));
    std::string& id = (*fields)[places[0]];
    if (!known.insert(id).second)
      return at_line(count, "another buffer has the id " + shown(id), "each buffer has an id of its own");
    table.ids.push_back(std::move(id));
    table.buffers.push_back(buffer);
  }
  return table;
}

std::string write_buffers(const BufferTable& table, const Layout& layout) {
  std::string text = "id,lower,upper,size,offset\n";
  for (std::size_t i = 0; i < table.ids.size(); ++i) {
    Buffer const& b = table.buffers[i];
    text += quoted(table.ids[i]);
    for (std::uint64_t const value : {b.lower, b.upper, b.size_bytes, layout.offsets[i]})
      text += ',' + std::to_string(value);
    text += '\n';
  }
  return text;
}

}  // namespace tidemark::plan
