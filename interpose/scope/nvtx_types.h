// SPDX-License-Identifier: Apache-2.0
// NVTX's types without its functions: those belong to whoever calls them.
#pragma once
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
