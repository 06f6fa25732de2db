// SPDX-License-Identifier: Apache-2.0
// What the addresses of call stacks stand for: function, file and line, from the files that ran, by elfutils. Done
// after the run and never in the program. A file is taken only if its build id is still the one that the trace has.
//
// Paths come from the trace and are not trusted: anything but a regular file is left alone. Files are read when they
// are first needed and kept; a Symbols is for one thread at a time. Where debug information lies beside the program,
// and whether a server is asked for it (DEBUGINFOD_URLS), is elfutils' and the user's affair.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trace/read/names.h"

namespace tidemark::trace {

// Why a frame has no function.
enum class NoSymbol : std::uint8_t {
  None,         // it has one
  NoObject,     // made at run time: no file has this code
  FileGone,     // or it cannot be read
  FileChanged,  // what is there now is not what ran
  Stripped,     // the file does not say
};

struct SymbolFrame {
  std::string function;  // demangled; empty where there is none
  std::string file;      // as the compiler saw it; empty where debug information has none
  std::uint32_t line = 0;
  std::string object;        // the path of the program or library
  std::uint64_t offset = 0;  // in the object's own addresses; without an object, the address itself
  bool inlined = false;      // into the frame after it
  NoSymbol missing = NoSymbol::None;
};

// "conv2d(Tensor&) at src/conv.cpp:41", "libx.so+0x1234 (no symbols: the file has changed)"
std::string text(const SymbolFrame& frame);

class Symbols {
 public:
  explicit Symbols(const Names& names);
  Symbols(const Symbols&) = delete;
  Symbols& operator=(const Symbols&) = delete;
  ~Symbols();

  // A stack's frames, innermost first; a function that was inlined is a frame of its own. How the stack ends is
  // Names::stack_end.
  std::vector<SymbolFrame> resolve(std::uint32_t stack);

 private:
  class File;
  File& file_of(const CodeObject& object);

  const Names& names_;
  std::map<const CodeObject*, std::unique_ptr<File>> files_;
};

}  // namespace tidemark::trace
