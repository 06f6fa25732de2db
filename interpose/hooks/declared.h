// SPDX-License-Identifier: Apache-2.0
// Every hook of the driver with the signature of its function: a definition that has another does not compile.
#pragma once
#include <type_traits>

#include "interpose/real/cuda.h"

#define TIDEMARK_DECLARE(symbol, like) \
  extern "C" __attribute__((visibility("hidden"))) std::remove_pointer_t<decltype(&::like)> tidemark_hook_##symbol;
#define TIDEMARK_DRIVER_ENTRY(symbol, plain, version, twin, action, kind, stream) TIDEMARK_DECLARE(symbol, symbol)
#define TIDEMARK_DRIVER_TWIN(symbol, plain, version, like, action, kind, stream) TIDEMARK_DECLARE(symbol, like)
#include <hooked_driver_entries.inc>
#undef TIDEMARK_DRIVER_ENTRY
#undef TIDEMARK_DRIVER_TWIN
#undef TIDEMARK_DECLARE
