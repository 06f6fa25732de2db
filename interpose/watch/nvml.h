// SPDX-License-Identifier: Apache-2.0
// NVML, opened at run time where there is one: what a device has given to everybody, and to this process. It needs no
// context and so knows what a context itself takes.
//
// Opening it may take milliseconds on a card; what it then answers is cheap. Any thread; opened once.
#pragma once
#include <cstdint>
#include <optional>

namespace tidemark::interpose {

class Nvml {
 public:
  constexpr Nvml() = default;

  // Once for all; false, and why() says it, when there is none or it refuses.
  bool open();
  const char* why() const { return why_; }

  struct Use {
    std::uint64_t used_bytes = 0, total_bytes = 0;
    std::uint64_t process_bytes = 0;  // 0: not known (in a container NVML counts the host's processes)
  };
  // Of a device by CUDA's number for it; nothing when NVML does not know it.
  std::optional<Use> use(std::uint8_t device);
  // CUDA's number for one of NVML's devices; nothing when the driver has none of its identity.
  std::optional<std::uint8_t> device_of(void* nvml_device);

 private:
  bool load();
  void* handle_of(std::uint8_t device);

  const char* why_ = "not opened";
};

Nvml& nvml();

}  // namespace tidemark::interpose
