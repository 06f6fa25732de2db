// SPDX-License-Identifier: Apache-2.0
#include "softgpu/model/image.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string_view>

namespace tidemark::softgpu {
namespace {

ImageNames read(std::string_view text) {
  return read_image({reinterpret_cast<const std::byte*>(text.data()), text.size()}, 80);
}

constexpr std::string_view kPtx = R"(
//
// Generated, with a comment that says .entry ghost(
//
.version 9.0
.target sm_75
.address_size 64
/* .entry another_ghost( */
.global .align 4 .f32 scale = 0f3F800000;
.global .align 16 .b8 table[400];
.const .align 8 .u64 limit;
.visible .entry _Z3addPfi(
  .param .u64 _Z3addPfi_param_0,
  .param .u32 _Z3addPfi_param_1
)
.maxntid 128, 2, 1
{
  .reg .pred %p<2>;
  .shared .align 4 .b8 inner[64];
  ret;
}
.entry second()
{
  ret;
}
)";

TEST(Image, PtxGivesItsEntriesAndVariables) {
  auto const names = read(kPtx);
  EXPECT_EQ(names.kind, ImageNames::Kind::Ptx);
  EXPECT_EQ(names.kernels,
            (std::vector<ImageNames::Kernel>{{.name = "_Z3addPfi", .static_shared_bytes = 64, .thread_limit = 256},
                                             {.name = "second"}}));
  EXPECT_EQ(names.architecture, 75);
  EXPECT_EQ(names.constant_bytes, 8u);
  EXPECT_TRUE(names.readable);
  ASSERT_EQ(names.variables.size(), 3u);
  EXPECT_EQ(names.variables[0], (ImageNames::Variable{"scale", 4}));
  EXPECT_EQ(names.variables[1], (ImageNames::Variable{"table", 400}));
  EXPECT_EQ(names.variables[2], (ImageNames::Variable{"limit", 8}));
}

TEST(Image, OtherTextIsInvalid) {
  EXPECT_EQ(read("hello").kind, ImageNames::Kind::Invalid);
  EXPECT_EQ(read("").kind, ImageNames::Kind::Invalid);
}

TEST(Image, AFatBinaryWithoutPlainCodeIsRecognised) {
  std::uint32_t const words[] = {0xBA55ED50, 0, 0, 0};
  auto const names = read({reinterpret_cast<const char*>(words), sizeof words});
  EXPECT_EQ(names.kind, ImageNames::Kind::Fatbin);
  EXPECT_TRUE(names.kernels.empty());
  EXPECT_FALSE(names.readable);
}

// Attributes of a kernel, of each format: the third says 64 x 3 x 1 threads.
constexpr unsigned char kAttributes[] = {0x01, 0x35, 0, 0, 0x03, 0x1b, 0xff, 0, 0x04, 0x05, 12, 0,
                                         64,   0,    0, 0, 3,    0,    0,    0, 1,    0,    0,  0,
                                         0x02, 0x4c, 1, 0, 0x04, 0x1c, 4,    0, 0x70, 0,    0,  0};

// The smallest ELF with one kernel, its shared memory, and one variable.
std::string small_elf(unsigned architecture = 75, std::uint64_t shared_bytes = 96,
                      std::basic_string_view<unsigned char> attributes = {}, std::string_view calls = "") {
  struct File {
    Elf64_Ehdr header;
    Elf64_Shdr sections[7];
    char names[80];
    Elf64_Sym symbols[3];
    char strings[48];
    Elf64_Rel relocation;
    unsigned char attributes[64];
  } f{};
  std::memcpy(f.header.e_ident, ELFMAG, SELFMAG);
  f.header.e_shoff = offsetof(File, sections);
  f.header.e_shnum = 7;
  f.header.e_machine = EM_CUDA;
  f.header.e_ident[EI_OSABI] = 0x41;
  f.header.e_flags = 0x06000004 | architecture << 8;
  f.header.e_shstrndx = 1;
  std::memcpy(f.names, "\0.text._Z1kv\0.symtab\0.nv.shared._Z1kv\0.nv.info._Z1kv\0.rel.text._Z1kv\0", 69);
  std::memcpy(f.strings, "\0counter\0", 9);
  f.sections[0].sh_name = 1;
  f.sections[1] = {.sh_name = 0, .sh_type = SHT_STRTAB, .sh_offset = offsetof(File, names), .sh_size = sizeof f.names};
  f.sections[2] = {.sh_name = 13,
                   .sh_type = SHT_SYMTAB,
                   .sh_offset = offsetof(File, symbols),
                   .sh_size = sizeof f.symbols,
                   .sh_link = 3};
  f.sections[3] = {.sh_type = SHT_STRTAB, .sh_offset = offsetof(File, strings), .sh_size = sizeof f.strings};
  f.sections[4] = {.sh_name = 21, .sh_type = SHT_NOBITS, .sh_size = shared_bytes};
  f.sections[5] = {.sh_name = 38, .sh_offset = offsetof(File, attributes), .sh_size = attributes.size()};
  std::copy(attributes.begin(), attributes.end(), f.attributes);
  f.sections[6] = {.sh_name = 53,
                   .sh_type = SHT_REL,
                   .sh_offset = offsetof(File, relocation),
                   .sh_size = sizeof f.relocation,
                   .sh_link = 2};
  f.relocation.r_info = ELF64_R_INFO(2, 0);
  f.symbols[2] = {.st_name = 9, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)};
  std::copy(calls.begin(), calls.end(), f.strings + 9);
  f.symbols[1] = {.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), .st_size = 12};
  return std::string(reinterpret_cast<const char*>(&f), sizeof f);
}

TEST(Image, ACubinGivesItsSectionsAndSymbols) {
  auto const names = read(small_elf());
  EXPECT_EQ(names.kind, ImageNames::Kind::Elf);
  EXPECT_EQ(names.kernels, (std::vector<ImageNames::Kernel>{{.name = "_Z1kv", .static_shared_bytes = 96}}));
  EXPECT_EQ(names.architecture, 75);
  EXPECT_TRUE(names.readable);
  ASSERT_EQ(names.variables.size(), 1u);
  EXPECT_EQ(names.variables[0], (ImageNames::Variable{"counter", 12}));
}

std::uint32_t thread_limit(std::basic_string_view<unsigned char> attributes) {
  return read(small_elf(75, 0, attributes)).kernels.at(0).thread_limit;
}

TEST(Image, ACubinGivesTheBoundsOfALaunch) {
  std::basic_string_view<unsigned char> const all(kAttributes, sizeof kAttributes);
  EXPECT_EQ(thread_limit(all), 192u);
  std::basic_string<unsigned char> other(all);
  other[9] = 0x10;  // the same, as what is required
  EXPECT_EQ(thread_limit(other), 192u);
  other[9] = 0x2f;
  EXPECT_EQ(thread_limit(other), 0u);
  other[9] = 0x05;
  other[13] = other[17] = 0xff;  // no block is so large
  EXPECT_EQ(thread_limit(other), 1024u);
  other[8] = 0x09;  // a format that nobody knows, and so nothing behind it
  EXPECT_EQ(thread_limit(other), 0u);
  for (std::size_t n = 0; n < all.size(); ++n) EXPECT_EQ(thread_limit(all.substr(0, n)), n < 24 ? 0u : 192u) << n;
}

TEST(Image, ACubinSaysWhichKernelsLaunchOthers) {
  for (const char* const name : {"__cudaCDP2LaunchDeviceV2", "__cudaCDP2LaunchDevice_ptsz"})
    EXPECT_TRUE(read(small_elf(75, 0, {}, name)).kernels.at(0).launches) << name;
  for (const char* const name : {"", "vprintf", "__cudaCDP2GetParameterBufferV2"})
    EXPECT_FALSE(read(small_elf(75, 0, {}, name)).kernels.at(0).launches) << name;
}

std::string fatbin_of(std::initializer_list<std::string> codes) {
  std::string payload(64, '\1');  // descriptions that are not read
  for (std::string const& code : codes) payload += code + std::string(-code.size() % 8, '\0') + std::string(72, '\2');
  std::uint64_t const head[] = {std::uint64_t{16} << 48 | std::uint64_t{1} << 32 | 0xBA55ED50, payload.size()};
  return std::string(reinterpret_cast<const char*>(head), sizeof head) + payload;
}

TEST(Image, AFatBinaryGivesTheCodeForTheDevice) {
  std::string const all = fatbin_of({small_elf(75, 100), small_elf(80, 200), small_elf(90, 300)});
  EXPECT_EQ(image_length(all.data()), all.size());
  struct Row {
    int device, chosen;
    std::uint32_t shared_bytes;
  };
  for (Row const row : {Row{75, 75, 100}, Row{80, 80, 200}, Row{89, 80, 200}, Row{90, 90, 300}, Row{70, 75, 100}}) {
    auto const names = read_image({reinterpret_cast<const std::byte*>(all.data()), all.size()}, row.device);
    EXPECT_EQ(names.kind, ImageNames::Kind::Fatbin);
    EXPECT_EQ(names.architecture, row.chosen);
    EXPECT_EQ(names.kernels,
              (std::vector<ImageNames::Kernel>{{.name = "_Z1kv", .static_shared_bytes = row.shared_bytes}}));
  }
}

TEST(Image, EveryTruncationOfAFatBinaryGivesAnAnswer) {
  std::string const whole = fatbin_of({small_elf(75), small_elf(80)});
  for (std::size_t n = 0; n < whole.size(); ++n) read(std::string_view(whole).substr(0, n));
}

TEST(Image, TheNameOfAKernelOfCcclTellsItsArchitectures) {
  constexpr std::string_view kName = "_ZN3cub23CUB_300001_SM_750_860_NS6detail11EmptyKernelIvEEvv";
  EXPECT_EQ(architecture_in_name(kName, 80), 75);
  EXPECT_EQ(architecture_in_name(kName, 89), 86);
  EXPECT_EQ(architecture_in_name("_Z4rowsPKfPf", 80), 0);
  EXPECT_EQ(architecture_in_name("_SM_", 80), 0);
}

TEST(Image, EveryTruncationOfAnElfGivesAnAnswer) {
  std::string const whole = small_elf();
  for (std::size_t n = 0; n < whole.size(); ++n) read(std::string_view(whole).substr(0, n));
}

TEST(Image, LengthIsFoundForTextAndElf) {
  std::string const text(kPtx);
  EXPECT_EQ(image_length(text.c_str()), text.size());
  std::string const elf = small_elf();
  EXPECT_GT(image_length(elf.data()), sizeof(Elf64_Ehdr));
  unsigned char const noise[64] = {1, 2, 3, 4};
  EXPECT_EQ(image_length(noise), 0u);
}

}  // namespace
}  // namespace tidemark::softgpu
