// SPDX-License-Identifier: Apache-2.0
// One program or library, as elfutils reads it.
#pragma once
#include <elfutils/libdwfl.h>

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "trace/symbols/symbols.h"

namespace tidemark::trace {

class SymbolFile {
 public:
  // The object must stay where it is.
  explicit SymbolFile(const CodeObject& object);

  // Appends the frame of a return address, behind those of what was inlined there.
  void resolve(std::uint64_t address, std::vector<SymbolFrame>& out);

 private:
  struct End {
    void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
  };
  NoSymbol open();
  std::vector<SymbolFrame> look_up(std::uint64_t address);
  void set_place(std::uint64_t address, SymbolFrame& frame);
  bool returns_from_signal(std::uint64_t address);
  void add_inlined(Dwarf_Die& unit, std::uint64_t address, std::vector<SymbolFrame>& frames);

  const CodeObject& object_;
  std::unique_ptr<Dwfl, End> dwfl_;
  Dwfl_Module* module_ = nullptr;
  NoSymbol missing_;  // for the whole file
  std::unordered_map<std::uint64_t, std::vector<SymbolFrame>> known_;
};

}  // namespace tidemark::trace
