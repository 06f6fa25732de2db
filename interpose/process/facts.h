// SPDX-License-Identifier: Apache-2.0
// What the trace says about the program: its command line, its folder, and the environment that decides how CUDA and
// the frameworks allocate.
#pragma once
#include "interpose/process/options.h"
#include "trace/write/dictionary.h"

namespace tidemark::interpose {

void write_process_facts(trace::Dictionary& names, const Options& options, trace::Mode mode);

}  // namespace tidemark::interpose
