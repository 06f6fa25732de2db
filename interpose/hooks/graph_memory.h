// SPDX-License-Identifier: Apache-2.0
// Memory of CUDA graphs: one pool per device, which only the driver can tell the size of. It is asked after launches
// once the program has made a node that allocates.
#pragma once
#include <cstdint>

namespace tidemark::interpose {

void expect_graph_memory();
// The device's last context has ended, and the pool with it.
void graph_memory_ended(std::uint8_t device);

}  // namespace tidemark::interpose
