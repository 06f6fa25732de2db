// SPDX-License-Identifier: Apache-2.0
// Buffers as text, from anybody: no text breaks the reader, what is read and written comes back the same, and what can
// be planned is planned soundly.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "allocator/core/plan/buffer_csv.h"
#include "allocator/core/plan/planner.h"
#include "allocator/core/plan/verify.h"

namespace {

using namespace tidemark::plan;

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto const table = read_buffers({reinterpret_cast<const char*>(data), size});
  if (!table.ok()) {
    check(!table.error().what.empty() && !table.error().hint.empty());
    return 0;
  }
  Layout layout{.offsets = std::vector<std::uint64_t>(table->ids.size()), .height = 0};
  std::string const text = write_buffers(*table, layout);
  auto const again = read_buffers(text);
  check(again.ok() && again->ids == table->ids && write_buffers(*again, layout) == text);
  if (table->buffers.size() > 200) return 0;
  auto const plan = plan_layout(table->buffers, {});
  if (!plan.ok()) check(plan.error().code == tidemark::Errc::InvalidArgument);
  if (plan.ok())
    check(verify(table->buffers, plan->layout, plan->layout.height).ok() && plan->layout.height >= plan->bound);
  return 0;
}
