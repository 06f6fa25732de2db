// SPDX-License-Identifier: Apache-2.0
#include "interpose/serve/objects.h"

#include <link.h>
#include <string.h>

#include <array>
#include <string_view>

namespace tidemark::interpose::serve {
namespace {

struct Known {
  std::string_view beginning;  // of a file's name
  const char* why;
};
constexpr std::array<Known, 7> kKnown{{
    {"libc10_cuda.so", "PyTorch has an allocator of its own"},
    {"libtensorflow_framework.so", "TensorFlow has an allocator of its own"},
    {"libtensorflow_cc.so", "TensorFlow has an allocator of its own"},
    {"xla_cuda_plugin.so", "XLA has an allocator of its own"},
    {"pjrt_c_api_gpu_plugin.so", "XLA has an allocator of its own"},
    {"libnccl.so", "NCCL hands memory to other processes"},
    {"libucp.so", "UCX hands memory to other processes"},
}};

// Memory that is part of a larger block, or mapped, cannot be handed out by these.
constexpr std::array<std::string_view, 4> kExports{"cudaIpcGetMemHandle", "cuIpcGetMemHandle",
                                                   "cudaMemPoolExportPointer", "cuMemPoolExportPointer"};

std::string_view file_name(const char* path) {
  const char* const slash = strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

// CUDA's own libraries import what they pass on; only clients count.
bool is_cuda(std::string_view file) {
  for (std::string_view const own : {"libcuda.so", "libcudart.so", "libtidemark", "libcupti.so", "libnvidia-ml.so"})
    if (file.starts_with(own)) return true;
  return false;
}

struct Dynamic {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const ElfW(Rela) * tables[2] = {};
  std::size_t bytes[2] = {};
};

Dynamic read_dynamic(const dl_phdr_info& object) {
  Dynamic out;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    if (object.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    for (auto at = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
         at->d_tag != DT_NULL; ++at)
      switch (at->d_tag) {
        case DT_SYMTAB: out.symbols = reinterpret_cast<const ElfW(Sym)*>(at->d_un.d_ptr); break;
        case DT_STRTAB: out.strings = reinterpret_cast<const char*>(at->d_un.d_ptr); break;
        case DT_JMPREL: out.tables[0] = reinterpret_cast<const ElfW(Rela)*>(at->d_un.d_ptr); break;
        case DT_PLTRELSZ: out.bytes[0] = at->d_un.d_val; break;
        case DT_RELA: out.tables[1] = reinterpret_cast<const ElfW(Rela)*>(at->d_un.d_ptr); break;
        case DT_RELASZ: out.bytes[1] = at->d_un.d_val; break;
        default: break;
      }
  }
  return out;
}

// Whether an object asks for a name: it has a relocation for it. The linker has moved the tables' addresses already,
// but for the kernel's own object, whose are small numbers.
bool imports_an_export(const dl_phdr_info& object) {
  Dynamic const d = read_dynamic(object);
  if (d.symbols == nullptr || reinterpret_cast<std::uintptr_t>(d.symbols) < object.dlpi_addr || d.strings == nullptr)
    return false;
  for (std::size_t table = 0; table < 2; ++table)
    for (std::size_t i = 0; d.tables[table] != nullptr && i < d.bytes[table] / sizeof(ElfW(Rela)); ++i) {
      std::size_t const symbol = ELF64_R_SYM(d.tables[table][i].r_info);
      if (symbol == 0) continue;
      const char* const name = d.strings + d.symbols[symbol].st_name;
      if (name[0] != 'c' || name[1] != 'u') continue;
      for (std::string_view const wanted : kExports)
        if (wanted == name) return true;
    }
  return false;
}

int look_at(dl_phdr_info* object, std::size_t /*bytes*/, void* data) {
  auto& why = *static_cast<std::string*>(data);
  std::string_view const file = file_name(object->dlpi_name);
  for (Known const& known : kKnown)
    if (file.starts_with(known.beginning)) {
      why = known.why;
      return 1;
    }
  if (is_cuda(file) || !imports_an_export(*object)) return 0;
  why = (file.empty() ? std::string("the program") : std::string(file)) + " hands memory to other processes";
  return 1;
}

}  // namespace

std::uint64_t objects_loaded() {
  std::uint64_t count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        *static_cast<std::uint64_t*>(data) = object->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

std::string reason_to_observe() {
  std::string why;
  dl_iterate_phdr(&look_at, &why);
  return why;
}

}  // namespace tidemark::interpose::serve
