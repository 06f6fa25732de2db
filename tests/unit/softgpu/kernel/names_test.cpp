// SPDX-License-Identifier: Apache-2.0
#include "softgpu/kernel/names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/unit/softgpu/kernel/support.h"

namespace tidemark::softgpu::testing {
namespace {

TEST(CanonicalName, MakesOneSpellingOfBothCompilers) {
  for (auto const& [mangled, canonical] : {
           std::pair{"_Z6vecAddPKfS0_Pfi", "_Z6vecAddPKfS0_Pfi"},
           {"plain", "plain"},
           {"_ZL1kPi", "_Z1kPi"},
           {"_ZL7counter", "counter"},
           {"_ZN2nsL2scE", "_ZN2ns2scE"},
           {"_ZN2ns5scaleIfLi3EEEvPT_S1_", "_ZN2ns5scaleIfLi3EEEvPT_S1_"},
           {"_ZN12_GLOBAL__N_14anonEPi", "_ZN12_GLOBAL__N_14anonEPi"},
           {"_ZN36_GLOBAL__N__1fff4048_4_n_cu_ee3dab7b4anonEPi", "_ZN12_GLOBAL__N_14anonEPi"},
           {"_ZN34_INTERNAL_1fff4048_4_n_cu_ee3dab7b36_GLOBAL__N__1fff4048_4_n_cu_ee3dab7b2avE",
            "_ZN12_GLOBAL__N_12avE"},
           {"_Z2k9ILi3EN36_GLOBAL__N__1fff4048_4_n_cu_ee3dab7b3FooEEvT0_", "_Z2k9ILi3EN12_GLOBAL__N_13FooEEvT0_"},
           {"_Z", "_Z"},
           {"_ZN", "_ZN"},
           {"_ZL", "_ZL"},
           {"_ZL999999999999999999999999x", "_Z999999999999999999999999x"},
       })
    EXPECT_EQ(canonical_name(mangled), canonical);
}

#ifdef TEST_DEVICE_PTX

std::string contents(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// What follows each ".entry" in the device code.
std::set<std::string> entries(const std::string& ptx) {
  constexpr std::string_view kWord = ".entry ";
  std::set<std::string> names;
  for (std::size_t at = ptx.find(kWord); at != std::string::npos; at = ptx.find(kWord, at + 1)) {
    std::size_t const begin = at + kWord.size();
    names.insert(canonical_name(ptx.substr(begin, ptx.find('(', begin) - begin)));
  }
  return names;
}

// The same bodies, compiled by nvcc: every entry of the device code is in the CPU library's table and the reverse.
TEST(DeviceCompiler, HasTheSameKernelNames) {
  auto const device = entries(contents(TEST_DEVICE_PTX));
  std::set<std::string> host;
  for (unsigned i = 0; i < library().kernel_count; ++i) host.insert(library().kernels[i].name);
  // These two are no CUDA.
  host.erase("_Z8throwingi");
  host.erase("_Z13serial_kernelPi");
  EXPECT_GT(device.size(), 50u);
  EXPECT_EQ(device, host);
}

// The names that the program will register at run time: strings of the object that nvcc makes.
TEST(DeviceCompiler, RegistersKernelsAndSymbolsUnderTheseNames) {
  std::string const object = contents(TEST_DEVICE_OBJECT);
  std::set<std::string> strings;
  for (std::size_t at = 0; at < object.size();) {
    std::size_t const end = std::min(object.find('\0', at), object.size());
    if (end - at > 3 && end - at < 1000) strings.insert(canonical_name(object.substr(at, end - at)));
    at = end + 1;
  }
  for (unsigned i = 0; i < library().kernel_count; ++i) {
    std::string const name = library().kernels[i].name;
    bool const cuda = name != "_Z8throwingi" && name != "_Z13serial_kernelPi";
    EXPECT_EQ(strings.contains(name), cuda) << name;
  }
  for (unsigned i = 0; i < library().symbol_count; ++i)
    EXPECT_TRUE(strings.contains(library().symbols[i].name)) << library().symbols[i].name;
}

#endif

}  // namespace
}  // namespace tidemark::softgpu::testing
