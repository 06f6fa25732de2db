// SPDX-License-Identifier: Apache-2.0
// Gathers what `tidemark top` shows: devices and their processes from NVML, and the traces that running processes have
// open. A trace is found where the system says it is mapped, so nobody has to announce itself.
#pragma once
#include "cli/top/view.h"

namespace tidemark::cli {

TopView collect();

}  // namespace tidemark::cli
