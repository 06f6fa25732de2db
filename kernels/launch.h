// SPDX-License-Identifier: Apache-2.0
// What every launch function takes, and the check after a launch. A launch function queues one kernel on the stream and
// returns; operands are device addresses; an error of the launch ends the program with its name.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace tidemark::kernels {

// What activations, and the working copies of weights, are stored in.
enum class Type : std::uint8_t { F32, F16, BF16 };
constexpr std::size_t type_bytes(Type type) {
  return type == Type::F32 ? 4 : 2;
}

}  // namespace tidemark::kernels
