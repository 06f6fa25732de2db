// SPDX-License-Identifier: Apache-2.0
#include "trace/symbols/file.h"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace tidemark::trace {
namespace {

// Longer names only waste the demangler's time.
constexpr std::size_t kLongestName = 4096;

struct Release {
  void operator()(void* memory) const { free(memory); }
};

std::string demangled(const char* name) {
  if (name == nullptr) return {};
  if (std::strncmp(name, "_Z", 2) != 0 || std::strlen(name) > kLongestName) return name;
  std::unique_ptr<char, Release> const text(abi::__cxa_demangle(name, nullptr, nullptr, nullptr));
  return text ? text.get() : name;
}

// A descriptor of a regular file, or -1: opening a pipe or a device that a trace names could wait, or do something.
int open_regular(const std::string& path) {
  if (path.empty() || path[0] != '/') return -1;
  int const file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat info {};
  if (file >= 0 && (fstat(file, &info) != 0 || !S_ISREG(info.st_mode))) {
    ::close(file);
    return -1;
  }
  return file;
}

const char* text_in(Dwarf_Die* die, unsigned which) {
  Dwarf_Attribute attribute;
  return dwarf_formstring(dwarf_attr_integrate(die, which, &attribute));
}

// The namespaces and classes around a function that has no name for the linker.
std::string around(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  // What was inlined points to the function, and that to its declaration, which stands where it was written.
  Dwarf_Die origin = *die, next;
  for (unsigned const which : {DW_AT_abstract_origin, DW_AT_specification})
    if (dwarf_formref_die(dwarf_attr(&origin, which, &attribute), &next) != nullptr) origin = next;
  Dwarf_Die* scopes = nullptr;
  int const count = dwarf_getscopes_die(&origin, &scopes);
  std::unique_ptr<Dwarf_Die, Release> const owned(count > 0 ? scopes : nullptr);
  std::string text;
  for (int i = 1; i < count; ++i) {
    int const tag = dwarf_tag(&scopes[i]);
    if (tag != DW_TAG_namespace && tag != DW_TAG_class_type && tag != DW_TAG_structure_type) continue;
    const char* const name = dwarf_diename(&scopes[i]);
    text.insert(0, std::string(name != nullptr ? name : "(anonymous namespace)") + "::");
  }
  return text;
}

// The name that debug information has for a function, inlined or not.
std::string name_of(Dwarf_Die* die) {
  for (unsigned const which : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name})
    if (const char* const name = text_in(die, which)) return demangled(name);
  const char* const name = text_in(die, DW_AT_name);
  return name != nullptr ? around(die) + name : std::string();
}

std::uint32_t number_in(Dwarf_Die* die, unsigned which) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  return dwarf_formudata(dwarf_attr(die, which, &attribute), &value) == 0 ? static_cast<std::uint32_t>(value) : 0;
}

// Where an inlined function was called from.
void set_call_place(Dwarf_Die* unit, Dwarf_Die* inlined, SymbolFrame& frame) {
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  std::uint32_t const which = number_in(inlined, DW_AT_call_file);
  frame.file.clear();
  frame.line = number_in(inlined, DW_AT_call_line);
  if (which == 0 || dwarf_getsrcfiles(unit, &files, &count) != 0 || which >= count) return;
  if (const char* const name = dwarf_filesrc(files, which, nullptr, nullptr)) frame.file = name;
}

}  // namespace

SymbolFile::SymbolFile(const CodeObject& object) : object_(object), missing_(open()) {}

NoSymbol SymbolFile::open() {
  static Dwfl_Callbacks const callbacks{.find_elf = dwfl_build_id_find_elf,
                                        .find_debuginfo = dwfl_standard_find_debuginfo,
                                        .section_address = dwfl_offline_section_address};
  int const file = open_regular(object_.path);
  if (file < 0) return NoSymbol::FileGone;
  dwfl_.reset(dwfl_begin(&callbacks));
  if (dwfl_) module_ = dwfl_report_elf(dwfl_.get(), "object", object_.path.c_str(), file, 0, true);
  if (module_ == nullptr) {
    ::close(file);
    return NoSymbol::FileChanged;  // no longer a program
  }
  dwfl_report_end(dwfl_.get(), nullptr, nullptr);
  const unsigned char* id = nullptr;
  GElf_Addr place = 0;
  int const bytes = dwfl_module_build_id(module_, &id, &place);
  std::string_view const now(reinterpret_cast<const char*>(id), bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return now == object_.build_id ? NoSymbol::None : NoSymbol::FileChanged;
}

void SymbolFile::resolve(std::uint64_t address, std::vector<SymbolFrame>& out) {
  auto const [known, fresh] = known_.try_emplace(address);
  if (fresh) known->second = look_up(address);
  out.insert(out.end(), known->second.begin(), known->second.end());
}

std::vector<SymbolFrame> SymbolFile::look_up(std::uint64_t address) {
  std::uint64_t const offset = address - object_.bias, call = offset - 1;
  std::vector<SymbolFrame> frames{{.object = object_.path, .offset = offset, .missing = missing_}};
  if (missing_ != NoSymbol::None) return frames;
  SymbolFrame& frame = frames.back();
  GElf_Off within = 0;
  GElf_Sym symbol;
  if (const char* const name = dwfl_module_addrinfo(module_, call, &within, &symbol, nullptr, nullptr, nullptr))
    frame.function = demangled(name);
  // elfutils also answers with what stands before an address that nothing is known of.
  Dwarf_Addr bias = 0;
  Dwarf_Die* const unit = dwfl_module_addrdie(module_, call, &bias);
  if (unit != nullptr && dwarf_haspc(unit, call - bias) > 0) {
    set_place(call, frame);
    add_inlined(*unit, call - bias, frames);
  }
  if (frames.back().function.empty() && returns_from_signal(call)) frames.back().function = "(signal handler)";
  for (SymbolFrame& f : frames)
    if (f.function.empty()) f.missing = NoSymbol::Stripped;
  return frames;
}

void SymbolFile::set_place(std::uint64_t address, SymbolFrame& frame) {
  Dwfl_Line* const line = dwfl_module_getsrc(module_, address);
  int number = 0;
  const char* const file = line == nullptr ? nullptr : dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr);
  if (file == nullptr) return;
  frame.file = file;
  frame.line = static_cast<std::uint32_t>(number);
}

// Where a handler returns to: code of the C library that has no name of its own.
bool SymbolFile::returns_from_signal(std::uint64_t address) {
  Dwarf_Addr bias = 0;
  Dwarf_CFI* const tables = dwfl_module_eh_cfi(module_, &bias);
  Dwarf_Frame* row = nullptr;
  if (tables == nullptr || dwarf_cfi_addrframe(tables, address - bias, &row) != 0) return false;
  std::unique_ptr<Dwarf_Frame, Release> const owned(row);
  bool signal = false;
  return dwarf_frame_info(row, nullptr, nullptr, &signal) >= 0 && signal;
}

// From the innermost outwards: each inlined function takes the place that was found so far, and leaves the one that it
// was called from to the function around it.
void SymbolFile::add_inlined(Dwarf_Die& unit, std::uint64_t address, std::vector<SymbolFrame>& frames) {
  Dwarf_Die* scopes = nullptr;
  int const count = dwarf_getscopes(&unit, address, &scopes);
  std::unique_ptr<Dwarf_Die, Release> const owned(count > 0 ? scopes : nullptr);
  for (int i = 0; i < count; ++i) {
    int const tag = dwarf_tag(&scopes[i]);
    if (tag == DW_TAG_subprogram) {
      if (frames.back().function.empty()) frames.back().function = name_of(&scopes[i]);
      return;
    }
    if (tag != DW_TAG_inlined_subroutine) continue;
    SymbolFrame inner = frames.back();
    inner.function = name_of(&scopes[i]);
    inner.inlined = true;
    set_call_place(&unit, &scopes[i], frames.back());
    frames.insert(frames.end() - 1, std::move(inner));
  }
}

}  // namespace tidemark::trace
