// SPDX-License-Identifier: Apache-2.0
// What is said on stderr when the program has ended: mode, peak, the layers that held it, where the trace is.
#pragma once
#include <string>
#include <vector>

namespace tidemark::cli {

// A few lines about the traces of one launch. A trace that is too long to be gone through in a moment gets the figures
// that stand in its header.
std::string closing_lines(const std::vector<std::string>& traces);
// What is said when there is no trace.
std::string nothing_recorded(bool software_device);

}  // namespace tidemark::cli
