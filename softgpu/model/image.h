// SPDX-License-Identifier: Apache-2.0
// What can be read out of a code image without the vendor's formats: PTX is documented text, a cubin is an ELF file
// with one section per kernel. The inside of a fat binary is not read. Untrusted input: any bytes give an answer.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tidemark::softgpu {

struct ImageNames {
  enum class Kind : std::uint8_t { Invalid, Ptx, Elf, Fatbin } kind = Kind::Invalid;
  std::vector<std::string> kernels;
  struct Variable {
    std::string name;
    std::uint64_t bytes = 0;
    bool managed = false;
    bool operator==(const Variable&) const = default;
  };
  std::vector<Variable> variables;
};

// The length of an image that came without one. 0: neither text nor ELF nor fat binary.
std::uint64_t image_length(const void* image);
ImageNames read_image(std::span<const std::byte> image);

}  // namespace tidemark::softgpu
