// SPDX-License-Identifier: Apache-2.0
// Memory of CUDA graphs: one pool per device, which only the driver can tell the size of. It is asked after launches
// once the program has made a node that allocates.
#pragma once
#include <cstdint>

namespace tidemark::interpose {

void expect_graph_memory();
// After a context's end, which ended its graphs.
void sample_graph_memory();

}  // namespace tidemark::interpose
