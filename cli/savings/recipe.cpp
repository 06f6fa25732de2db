// SPDX-License-Identifier: Apache-2.0
#include "cli/savings/recipe.h"

namespace tidemark::cli {

Result<Flags> flags_of(const Recipe& r, std::uint64_t batch) {
  bool const tiny = r.side == Side::Tiny;
  if (batch == 0) batch = tiny ? r.model->tiny_batch : r.model->batch;
  Numbers numbers = read_numbers(tiny ? r.model->tiny_numbers : r.model->numbers);
  numbers.insert_or_assign("batch", batch);
  Flags flags;
  flags.set("--model", r.model->name);
  flags.set("--size", tiny ? "tiny" : r.model->size);
  flags.set("--batch", std::to_string(batch));
  const Trick* const under = r.trick->baseline.empty() ? nullptr : find_trick(r.trick->baseline);
  for (std::string_view const text :
       {tiny ? r.model->tiny_flags : std::string_view(), plain_flags(), under == nullptr ? "" : under->flags,
        r.baseline ? std::string_view() : r.trick->more, r.baseline ? r.trick->against : r.trick->flags,
        r.pinned ? r.trick->pinned : std::string_view()})
    if (auto added = flags.add(text, numbers); !added.ok()) return added.error();
  return flags;
}

}  // namespace tidemark::cli
