// SPDX-License-Identifier: Apache-2.0
// A kernel that gets its pointer in a structure.
#pragma once
#include "softgpu/kernel/portable.h"

namespace used {

struct Named {
  int count;
  int* data;
};
__global__ void touch(Named named) {
  named.data[0] = named.count;
}

}  // namespace used
