// SPDX-License-Identifier: Apache-2.0
#include "softgpu/profiles/profiles.h"

#include <array>
#include <string>

namespace tidemark::softgpu {
namespace {

using namespace tidemark::literals;

constexpr Bytes gib_hundredths(std::uint64_t n) {
  return {(n << 30) / 100 / 65536 * 65536};
}

constexpr std::array kProfiles = {
    Profile{.name = "t4-16g",
            .card = "Tesla T4",
            .memory = gib_hundredths(1475),
            .compute_major = 7,
            .compute_minor = 5,
            .sm_count = 40,
            .clock_mhz = 1590,
            .memory_clock_mhz = 5001,
            .bus_width_bits = 256,
            .l2_cache = 4_MiB,
            .shared_per_sm = 64_KiB,
            .shared_per_block_optin = 64_KiB,
            .threads_per_sm = 1024,
            .blocks_per_sm = 16},
    Profile{.name = "rtx2080ti-11g",
            .card = "GeForce RTX 2080 Ti",
            .memory = gib_hundredths(1076),
            .compute_major = 7,
            .compute_minor = 5,
            .sm_count = 68,
            .clock_mhz = 1545,
            .memory_clock_mhz = 7000,
            .bus_width_bits = 352,
            .l2_cache = 5632_KiB,
            .shared_per_sm = 64_KiB,
            .shared_per_block_optin = 64_KiB,
            .threads_per_sm = 1024,
            .blocks_per_sm = 16},
    Profile{.name = "rtx3060-12g",
            .card = "GeForce RTX 3060",
            .memory = gib_hundredths(1176),
            .compute_major = 8,
            .compute_minor = 6,
            .sm_count = 28,
            .clock_mhz = 1777,
            .memory_clock_mhz = 7501,
            .bus_width_bits = 192,
            .l2_cache = 2304_KiB,
            .shared_per_sm = 100_KiB,
            .shared_per_block_optin = 99_KiB,
            .threads_per_sm = 1536,
            .blocks_per_sm = 16},
    Profile{.name = "a10-24g",
            .card = "A10",
            .memory = gib_hundredths(2220),
            .compute_major = 8,
            .compute_minor = 6,
            .sm_count = 72,
            .clock_mhz = 1695,
            .memory_clock_mhz = 6251,
            .bus_width_bits = 384,
            .l2_cache = 6_MiB,
            .shared_per_sm = 100_KiB,
            .shared_per_block_optin = 99_KiB,
            .threads_per_sm = 1536,
            .blocks_per_sm = 16},
    Profile{.name = "rtx4090-24g",
            .card = "GeForce RTX 4090",
            .memory = gib_hundredths(2365),
            .compute_major = 8,
            .compute_minor = 9,
            .sm_count = 128,
            .clock_mhz = 2520,
            .memory_clock_mhz = 10501,
            .bus_width_bits = 384,
            .l2_cache = 72_MiB,
            .shared_per_sm = 100_KiB,
            .shared_per_block_optin = 99_KiB,
            .threads_per_sm = 1536,
            .blocks_per_sm = 24},
    Profile{.name = "a100-40g",
            .card = "A100 40GB",
            .memory = gib_hundredths(3939),
            .compute_major = 8,
            .compute_minor = 0,
            .sm_count = 108,
            .clock_mhz = 1410,
            .memory_clock_mhz = 1215,
            .bus_width_bits = 5120,
            .l2_cache = 40_MiB,
            .shared_per_sm = 164_KiB,
            .shared_per_block_optin = 163_KiB,
            .threads_per_sm = 2048,
            .blocks_per_sm = 32},
    Profile{.name = "a100-80g",
            .card = "A100 80GB",
            .memory = gib_hundredths(7915),
            .compute_major = 8,
            .compute_minor = 0,
            .sm_count = 108,
            .clock_mhz = 1410,
            .memory_clock_mhz = 1593,
            .bus_width_bits = 5120,
            .l2_cache = 40_MiB,
            .shared_per_sm = 164_KiB,
            .shared_per_block_optin = 163_KiB,
            .threads_per_sm = 2048,
            .blocks_per_sm = 32},
    Profile{.name = "h100-80g",
            .card = "H100 80GB",
            .memory = gib_hundredths(7911),
            .compute_major = 9,
            .compute_minor = 0,
            .sm_count = 132,
            .clock_mhz = 1980,
            .memory_clock_mhz = 2619,
            .bus_width_bits = 5120,
            .l2_cache = 50_MiB,
            .shared_per_sm = 228_KiB,
            .shared_per_block_optin = 227_KiB,
            .threads_per_sm = 2048,
            .blocks_per_sm = 32},
    Profile{.name = "gtx1080ti-11g",
            .card = "GeForce GTX 1080 Ti",
            .memory = gib_hundredths(1092),
            .compute_major = 6,
            .compute_minor = 1,
            .sm_count = 28,
            .clock_mhz = 1582,
            .memory_clock_mhz = 5505,
            .bus_width_bits = 352,
            .l2_cache = 2816_KiB,
            .shared_per_sm = 96_KiB,
            .shared_per_block_optin = 48_KiB,
            .threads_per_sm = 2048,
            .blocks_per_sm = 32},
    Profile{.name = "v100-16g",
            .card = "Tesla V100 16GB",
            .memory = gib_hundredths(1578),
            .compute_major = 7,
            .compute_minor = 0,
            .sm_count = 80,
            .clock_mhz = 1530,
            .memory_clock_mhz = 877,
            .bus_width_bits = 4096,
            .l2_cache = 6_MiB,
            .shared_per_sm = 96_KiB,
            .shared_per_block_optin = 96_KiB,
            .threads_per_sm = 2048,
            .blocks_per_sm = 32},
};

}  // namespace

std::span<const Profile> profiles() {
  return kProfiles;
}

Result<const Profile*> find_profile(std::string_view name) {
  std::string known;
  for (Profile const& p : kProfiles) {
    if (p.name == name) return &p;
    known.append(known.empty() ? "" : ", ").append(p.name);
  }
  return Error{Errc::NotFound, "unknown profile '" + std::string(name) + "'", "known: " + known};
}

}  // namespace tidemark::softgpu
