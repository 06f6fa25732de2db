// SPDX-License-Identifier: Apache-2.0
// The table of a kernel library, and the one function it exports.
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "softgpu/kernel/engine/report.h"
#include "softgpu/kernel/names.h"
#include "softgpu/kernel/register.h"

namespace tidemark::softgpu {
namespace {

// Lists, not vectors: they are filled by static constructors, before any other object can be relied on.
constinit KernelEntry* g_kernels = nullptr;
constinit SymbolEntry* g_symbols = nullptr;

struct Table {
  std::deque<std::string> names;  // stay where they are: the entries point to them
  std::vector<SoftgpuKernel> kernels;
  std::vector<SoftgpuSymbol> symbols;
  SoftgpuKernelLibrary library{};
};

// Of two entities of one name only the first is reached: it can happen only to unnamed namespaces in two files.
template <class Entry, class Item, class Same>
void collect(Table& table, Entry* list, Item Entry::*item, std::vector<Item>& into, Same same) {
  std::unordered_map<std::string, std::size_t> seen;
  for (Entry* entry = list; entry; entry = entry->next) {
    std::string name = canonical_name((entry->*item).name);
    auto const [at, fresh] = seen.try_emplace(name, into.size());
    if (!fresh) {
      if (!same(into[at->second], entry->*item)) say_line(name + ": registered twice; only one of them is used");
      continue;
    }
    table.names.push_back(std::move(name));
    (entry->*item).name = table.names.back().c_str();
    into.push_back(entry->*item);
  }
}

Table& table() {
  // Never destroyed: a launch may still run while the program exits.
  static Table* const built = [] {
    auto* const made = new Table;
    collect(*made, g_kernels, &KernelEntry::kernel, made->kernels,
            [](const SoftgpuKernel& a, const SoftgpuKernel& b) { return a.run == b.run; });
    collect(*made, g_symbols, &SymbolEntry::symbol, made->symbols,
            [](const SoftgpuSymbol& a, const SoftgpuSymbol& b) { return a.address == b.address; });
    made->library = {.abi = SOFTGPU_KERNEL_ABI,
                     .kernel_count = static_cast<std::uint32_t>(made->kernels.size()),
                     .kernels = made->kernels.data(),
                     .symbol_count = static_cast<std::uint32_t>(made->symbols.size()),
                     .symbols = made->symbols.data()};
    return made;
  }();
  return *built;
}

}  // namespace

bool add_kernel(KernelEntry& entry, const char* assembler_name) {
  // A template instance registered in two files is one entry.
  if (entry.kernel.name) return false;
  entry.kernel.name = assembler_name;
  entry.next = g_kernels;
  g_kernels = &entry;
  return true;
}

bool add_symbol(SymbolEntry& entry, const char* assembler_name) {
  if (entry.symbol.name) return false;
  entry.symbol.name = assembler_name;
  entry.next = g_symbols;
  g_symbols = &entry;
  return true;
}

}  // namespace tidemark::softgpu

extern "C" [[gnu::visibility("default")]] const SoftgpuKernelLibrary* softgpu_kernel_library() {
  return &tidemark::softgpu::table().library;
}
