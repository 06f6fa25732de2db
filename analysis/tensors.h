// SPDX-License-Identifier: Apache-2.0
// A framework that caches memory itself takes blocks from the driver and puts tensors into them. Both are in the trace;
// the bytes must count once.
#pragma once
#include "analysis/history.h"

namespace tidemark::analysis {

// Marks the blocks that at any time hold a tensor (Block::holds_tensors). A mapped range marks the physical block
// behind it, which is the one that counts.
void find_holders(History& history);

}  // namespace tidemark::analysis
