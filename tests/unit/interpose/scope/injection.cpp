// SPDX-License-Identifier: Apache-2.0
// A tool that is linked into the program: NVTX takes it where no variable names another one.
#define NVTX_STATIC_INJECTION_IMPL
#include "interpose/scope/nvtx_types.h"

extern "C" {
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);
extern NvtxInitializeInjectionNvtxFunc_t InitializeInjectionNvtx2_fnptr __attribute__((visibility("hidden")));
NvtxInitializeInjectionNvtxFunc_t InitializeInjectionNvtx2_fnptr = &InitializeInjectionNvtx2;
}
