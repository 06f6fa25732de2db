// SPDX-License-Identifier: Apache-2.0
#include "trace/symbols/symbols.h"

#include "trace/symbols/file.h"

namespace tidemark::trace {
namespace {

std::string hexadecimal(std::uint64_t number) {
  std::string digits;
  do {
    digits.insert(digits.begin(), "0123456789abcdef"[number % 16]);
    number /= 16;
  } while (number != 0);
  return "0x" + digits;
}

std::string last_part(const std::string& path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

const char* why(NoSymbol missing) {
  switch (missing) {
    case NoSymbol::FileGone: return " (no symbols: the file is gone)";
    case NoSymbol::FileChanged: return " (no symbols: the file has changed)";
    default: return " (no symbols)";
  }
}

}  // namespace

std::string text(const SymbolFrame& frame) {
  if (frame.missing == NoSymbol::NoObject) return hexadecimal(frame.offset) + " (code made at run time)";
  if (frame.function.empty()) return last_part(frame.object) + "+" + hexadecimal(frame.offset) + why(frame.missing);
  if (frame.file.empty()) return frame.function + " in " + last_part(frame.object);
  std::string const place = frame.file + (frame.line == 0 ? "" : ":" + std::to_string(frame.line));
  return frame.function + " at " + place;
}

Symbols::Symbols(const Names& names) : names_(names) {}
Symbols::~Symbols() = default;

class Symbols::File : public SymbolFile {
 public:
  using SymbolFile::SymbolFile;
};

Symbols::File& Symbols::file_of(const CodeObject& object) {
  auto& file = files_[&object];
  if (!file) file = std::make_unique<File>(object);
  return *file;
}

std::vector<SymbolFrame> Symbols::resolve(std::uint32_t stack) {
  std::vector<SymbolFrame> frames;
  for (std::uint64_t const address : names_.stack(stack)) {
    if (const CodeObject* const object = names_.object_at(stack, address))
      file_of(*object).resolve(address, frames);
    else
      frames.push_back({.offset = address, .missing = NoSymbol::NoObject});
  }
  return frames;
}

}  // namespace tidemark::trace
