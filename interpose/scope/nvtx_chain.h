// SPDX-License-Identifier: Apache-2.0
// Another tool that listens to NVTX: the one that NVTX_INJECTION64_PATH named before we took its place, kept in
// TIDEMARK_NVTX_CHAIN. It is asked first, its functions are called with the program's own arguments, and what it
// answers is what the program gets.
#pragma once
#include "interpose/scope/nvtx_types.h"

namespace tidemark::interpose {

// Lets the other tool set itself up in a module; false when there is none or it does not want to.
bool chain_nvtx(NvtxGetExportTableFunc_t get_table);
// The same for an extension of NVTX, of which we use none.
int chain_nvtx_extension(void* module);

}  // namespace tidemark::interpose
