// SPDX-License-Identifier: Apache-2.0
// The facts that an audit leaves in the trace. Pure: what is written depends on the arguments alone.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "interpose/watch/cupti_audit.h"
#include "interpose/watch/cupti_reader.h"

namespace tidemark::interpose {

struct CuptiEnd {
  CuptiReader::Counts counts;
  Audit::Verdict verdict;
  std::uint64_t dropped_records = 0;  // by CUPTI
  std::uint64_t lost_bytes = 0;       // of buffers, here
  std::string audit_refused;          // why there was none; empty otherwise
  std::string flush_failed;           // the error's name; empty otherwise
};

// "agrees", "differs", or "incomplete: " and why the comparison says less than it should.
std::string audit_word(const CuptiEnd& end);
using Facts = std::vector<std::pair<std::string, std::string>>;
Facts cupti_facts(const CuptiEnd& end);

}  // namespace tidemark::interpose
