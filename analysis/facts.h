// SPDX-License-Identifier: Apache-2.0
// What a trace's header and facts say about the run: the program, the devices, how it ended, what was lost.
#pragma once
#include <vector>

#include "analysis/reserved.h"
#include "analysis/summary.h"
#include "trace/read/trace.h"

namespace tidemark::analysis {

Source read_source(const trace::Trace& trace, const History& history);
std::vector<DeviceRow> read_devices(const trace::Trace& trace, const History& history);
Baselines read_baselines(const trace::Trace& trace);
// The context's own share of each device, where the trace says it.
Baselines read_context_bytes(const trace::Trace& trace);

}  // namespace tidemark::analysis
