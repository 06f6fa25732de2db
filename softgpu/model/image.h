// SPDX-License-Identifier: Apache-2.0
// What can be read out of a code image without the vendor's formats: PTX is documented text; a cubin is an ELF file
// with sections named after its kernels, among them the attributes that `cuobjdump -elf` prints by name; of a fat
// binary only its own length is read (its header was published as fatbinary.h), and the ELF files that lie in it
// uncompressed are found by their magic. Untrusted input: any bytes give an answer.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark::softgpu {

struct ImageNames {
  enum class Kind : std::uint8_t { Invalid, Ptx, Elf, Fatbin } kind = Kind::Invalid;
  struct Kernel {
    std::string name;
    std::uint32_t static_shared_bytes = 0;
    std::uint32_t thread_limit = 0;  // __launch_bounds__; 0: not said
    bool launches = false;           // kernels, from the device
    bool operator==(const Kernel&) const = default;
  };
  std::vector<Kernel> kernels;
  struct Variable {
    std::string name;
    std::uint64_t bytes = 0;
    bool managed = false;
    bool operator==(const Variable&) const = default;
  };
  std::vector<Variable> variables;
  std::uint32_t constant_bytes = 0;
  int architecture = 0;   // that the code was compiled for: 75 for sm_75; 0: not known
  bool readable = false;  // the names above are all there are
};

// The length of an image that came without one. 0: neither text nor ELF nor fat binary.
std::uint64_t image_length(const void* image);
// Of the codes in a fat binary the one for `architecture` counts: the newest that is not newer, else the oldest.
ImageNames read_image(std::span<const std::byte> image, int architecture);
ImageNames read_ptx(std::string_view text);
// CCCL wraps its kernels in a namespace that lists what they were compiled for ("CUB_300001_SM_750_800_NS"). The same
// choice among these; 0 when the name says nothing.
int architecture_in_name(std::string_view mangled, int architecture);

}  // namespace tidemark::softgpu
