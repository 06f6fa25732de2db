// SPDX-License-Identifier: Apache-2.0
// Memory that is shared with other processes and other APIs.
#pragma once

namespace tidemark::interpose {

// Whether any of this process's memory was handed out: from then on its blocks must be whole blocks of the driver.
bool has_shared_memory();

}  // namespace tidemark::interpose
