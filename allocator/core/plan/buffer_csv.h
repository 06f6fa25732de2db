// SPDX-License-Identifier: Apache-2.0
// Buffers as minimalloc writes them: a header with the columns id, lower, upper and size in any order, a row per
// buffer, alive in [lower, upper). The answer has the column offset behind them. Any bytes may come in: what cannot be
// read is an error that names its line.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "allocator/core/plan/buffer.h"
#include "base/result.h"

namespace tidemark::plan {

struct BufferTable {
  std::vector<std::string> ids;
  std::vector<Buffer> buffers;
};

// Other columns are passed over. Fields may be quoted; blank lines and spaces around fields do not count.
Result<BufferTable> read_buffers(std::string_view text);
// id,lower,upper,size,offset in the order of the table.
std::string write_buffers(const BufferTable& table, const Layout& layout);

}  // namespace tidemark::plan
