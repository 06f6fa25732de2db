// SPDX-License-Identifier: Apache-2.0
// What the numbers in a trace stand for.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/format/record.h"

namespace tidemark::trace {

class Names {
 public:
  // Takes the names from a shared chunk's slots. Chunks come in the order in which they were taken.
  void add(const Slot* begin, const Slot* end);

  // Empty for numbers that stand for nothing.
  const std::string& string(std::uint32_t id) const;
  // The dotted name of a layer: its own part after those around it.
  const std::string& path(std::uint32_t id) const;
  const std::vector<std::uint64_t>& stack(std::uint32_t id) const;
  std::uint64_t stream_handle(std::uint32_t id) const;
  const std::map<std::string, std::string>& facts() const { return facts_; }
  // Empty when the trace does not say.
  const std::string& fact(const std::string& key) const;

 private:
  void add(const Slot* at, unsigned slots);
  void add_path(const Path& record);
  void add_fact(const Fact& record, std::string_view text);

  std::unordered_map<std::uint32_t, std::string> strings_, paths_;
  std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> stacks_;
  std::unordered_map<std::uint32_t, std::uint64_t> streams_;
  std::map<std::string, std::string> facts_;
  std::uint32_t open_fact_ = 0;  // one whose text goes on
  std::string open_key_;
};

}  // namespace tidemark::trace
