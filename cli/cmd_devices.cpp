// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "cli/arguments.h"
#include "cli/output.h"
#include "softgpu/profiles/profiles.h"

namespace tidemark::cli {

Result<int> cmd_devices(Words words) {
  Arguments arguments("devices", "Lists the cards that the software device can stand in for.",
                      "  tidemark devices\n"
                      "  SOFTGPU_PROFILE=rtx2080ti-11g ./train   (with the software device on the library path)");
  TIDEMARK_TRY(bool const go, arguments.parse(words));
  if (!go) return kOk;
  std::string text = fmt::format("{:<15} {:<34} {:>10} {:>8} {:>5}\n", "profile", "card", "memory", "compute", "SMs");
  for (softgpu::Profile const& p : softgpu::profiles()) {
    text += fmt::format("{:<15} {:<34} {:>10} {:>8} {:>5}{}\n", p.name, p.card, format_bytes(p.memory),
                        fmt::format("{}.{}", p.compute_major, p.compute_minor), p.sm_count,
                        p.capacity_only()                    ? "  capacity only: CUDA 13 begins at 7.5"
                        : p.name == softgpu::kDefaultProfile ? "  default"
                                                             : "");
  }
  if (auto printed = print(text); !printed.ok()) return printed.error();
  return kOk;
}

}  // namespace tidemark::cli
