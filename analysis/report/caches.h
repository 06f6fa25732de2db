// SPDX-License-Identifier: Apache-2.0
// The part of a text report about served memory: what the cache held and did, and who kept its free memory apart.
#pragma once
#include "analysis/report/page.h"
#include "analysis/summary.h"

namespace tidemark::analysis::report {

// Nothing where the program was only observed.
void write_caches(Page& page, const Summary& summary);
// Frees that came too early: a mistake of the program's, before its figures.
void write_late_frees(Page& page, const Summary& summary);

}  // namespace tidemark::analysis::report
