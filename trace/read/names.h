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

// A loaded file with code: a program or a library.
struct CodeObject {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t bias = 0;   // an address less this is the file's own
  std::uint64_t ticks = 0;  // when it was first seen
  std::string build_id;     // bytes; empty where the file has none
  std::string path;
};

class Names {
 public:
  // Takes the names from a shared chunk's slots. Chunks come in the order in which they were taken.
  void add(const Slot* begin, const Slot* end);

  // Empty for numbers that stand for nothing.
  const std::string& string(std::uint32_t id) const;
  // The dotted name of a layer: its own part after those around it.
  const std::string& path(std::uint32_t id) const;
  // Return addresses, innermost first.
  const std::vector<std::uint64_t>& stack(std::uint32_t id) const;
  StackEnd stack_end(std::uint32_t id) const;
  // Where a return address of a stack lies; null where nothing was known to be. Addresses are used again when a library
  // is unloaded: what counts is what was there when the stack was written.
  const CodeObject* object_at(std::uint32_t stack, std::uint64_t address) const;
  const std::vector<CodeObject>& objects() const { return objects_; }
  std::uint64_t stream_handle(std::uint32_t id) const;
  const std::map<std::string, std::string>& facts() const { return facts_; }
  // Empty when the trace does not say.
  const std::string& fact(const std::string& key) const;

 private:
  void add(const Slot* at, unsigned slots);
  void add_path(const Path& record);
  void add_stack(const Slot* at, unsigned slots);
  void add_object(const Slot* at, unsigned slots);
  void add_fact(const Fact& record, std::string_view text);

  std::unordered_map<std::uint32_t, std::string> strings_, paths_;
  struct Stack {
    std::vector<std::uint64_t> frames;
    StackEnd end = StackEnd::Whole;
    std::size_t objects = 0;  // how many there were
  };
  static const Stack kNoStack;
  std::unordered_map<std::uint32_t, Stack> stacks_;
  std::vector<CodeObject> objects_;
  std::unordered_map<std::uint32_t, std::uint64_t> streams_;
  std::map<std::string, std::string> facts_;
  std::uint32_t open_fact_ = 0;  // one whose text goes on
  std::string open_key_;
};

}  // namespace tidemark::trace
