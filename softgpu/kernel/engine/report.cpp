// SPDX-License-Identifier: Apache-2.0
#include "softgpu/kernel/engine/report.h"

#include <cxxabi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "softgpu/kernel/engine/state.h"

namespace tidemark::softgpu {
namespace {

std::string readable(const char* mangled) {
  char* const text = abi::__cxa_demangle(mangled, nullptr, nullptr, nullptr);
  std::string name = text ? text : mangled;
  std::free(text);
  return name;
}

std::string show(const Index3& at) {
  char text[48];
  std::snprintf(text, sizeof text, "(%u,%u,%u)", static_cast<unsigned>(at.x), static_cast<unsigned>(at.y),
                static_cast<unsigned>(at.z));
  return text;
}

}  // namespace

void say_line(std::string_view text) {
  std::string line("softgpu: ");
  line.append(text).append("\n");
  [[maybe_unused]] auto const written = write(STDERR_FILENO, line.data(), line.size());
}

void say_fault(const BlockJob& job, std::string_view what) {
  std::string line("kernel ");
  line.append(readable(job.name)).append(", block ").append(show(thread_state()->block));
  line.append(", thread ").append(show(thread_state()->thread)).append(": ").append(what);
  say_line(line);
}

}  // namespace tidemark::softgpu
