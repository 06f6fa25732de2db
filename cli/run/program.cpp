// SPDX-License-Identifier: Apache-2.0
#include "cli/run/program.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "base/env.h"

namespace tidemark::cli {
namespace {

bool is_file(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

// The first of these that can be executed; else the first that is there at all.
std::string look_up(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  std::string const path = env_text("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
  std::string fallback;
  for (std::size_t begin = 0; begin <= path.size();) {
    std::size_t const end = std::min(path.find(':', begin), path.size());
    std::string const folder = end == begin ? "." : path.substr(begin, end - begin);
    std::string const candidate = folder + "/" + name;
    if (is_file(candidate)) {
      if (access(candidate.c_str(), X_OK) == 0) return candidate;
      if (fallback.empty()) fallback = candidate;
    }
    begin = end + 1;
  }
  return fallback;
}

class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    elf_version(EV_CURRENT);
    if (file_ >= 0) elf_ = elf_begin(file_, ELF_C_READ_MMAP, nullptr);
  }
  ~ElfFile() {
    elf_end(elf_);
    if (file_ >= 0) close(file_);
  }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  bool valid() const { return elf_ != nullptr && elf_kind(elf_) == ELF_K_ELF; }
  bool has_interpreter() const {
    std::size_t count = 0;
    if (elf_getphdrnum(elf_, &count) != 0) return false;
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Phdr header;
      if (gelf_getphdr(elf_, static_cast<int>(i), &header) != nullptr && header.p_type == PT_INTERP) return true;
    }
    return false;
  }
  template <class F>
  void for_each_section(F f) const {
    std::size_t names = 0;
    if (elf_getshdrstrndx(elf_, &names) != 0) return;
    for (Elf_Scn* at = elf_nextscn(elf_, nullptr); at != nullptr; at = elf_nextscn(elf_, at)) {
      GElf_Shdr header;
      if (gelf_getshdr(at, &header) == nullptr) continue;
      const char* const name = elf_strptr(elf_, names, header.sh_name);
      f(at, header, std::string_view(name == nullptr ? "" : name));
    }
  }
  // Calls f(tag, text) for each entry of the dynamic section whose value is a text.
  template <class F>
  void for_each_dynamic(F f) const {
    for_each_section([&](Elf_Scn* section, const GElf_Shdr& header, std::string_view) {
      Elf_Data* const data = header.sh_type == SHT_DYNAMIC ? elf_getdata(section, nullptr) : nullptr;
      GElf_Dyn entry;
      for (int i = 0; data != nullptr && gelf_getdyn(data, i, &entry) != nullptr && entry.d_tag != DT_NULL; ++i) {
        if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_RPATH) continue;
        const char* const text = elf_strptr(elf_, header.sh_link, entry.d_un.d_val);
        f(entry.d_tag, std::string_view(text == nullptr ? "" : text));
      }
    });
  }

 private:
  int file_;
  Elf* elf_ = nullptr;
};

bool begins_like_binary(const std::string& path) {
  char magic[4] = {};
  int const file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;  // may be executed and not read
  ssize_t const n = read(file, magic, sizeof magic);
  close(file);
  return n == sizeof magic && std::memcmp(magic, ELFMAG, SELFMAG) == 0;
}

void look_inside(Program& program) {
  program.binary = begins_like_binary(program.path);
  ElfFile const file(program.path);
  program.elf = file.valid();
  if (!program.elf) return;
  program.dynamic = file.has_interpreter();
  bool device_code = false, shared_runtime = false;
  file.for_each_section([&](Elf_Scn*, const GElf_Shdr&, std::string_view name) {
    device_code |= name == ".nv_fatbin" || name == "__nv_relfatbin";
  });
  file.for_each_dynamic([&](GElf_Sxword tag, std::string_view text) {
    if (tag == DT_NEEDED) shared_runtime |= text.starts_with("libcudart.so");
    if (tag == DT_RPATH) program.rpath = true;
  });
  program.static_runtime = device_code && !shared_runtime;
}

}  // namespace

Result<Program> inspect(const std::string& name) {
  Program program{.path = look_up(name)};
  struct stat info {};
  if (program.path.empty() || stat(program.path.c_str(), &info) != 0)
    return Error{Errc::NotFound, name + ": not found",
                 name.find('/') == std::string::npos ? "for a program in this folder, write ./" + name
                                                     : "check the path; it is taken from the current folder"};
  if (S_ISDIR(info.st_mode)) return Error{Errc::InvalidArgument, name + ": is a folder", "name the program in it"};
  if (access(program.path.c_str(), X_OK) != 0)
    return Error{Errc::InvalidArgument, name + ": cannot be executed", "chmod +x " + program.path};
  program.set_user = (info.st_mode & (S_ISUID | S_ISGID)) != 0;
  look_inside(program);
  return program;
}

}  // namespace tidemark::cli
