// SPDX-License-Identifier: Apache-2.0
#include "interpose/watch/cupti_report.h"

#include "interpose/process/json_array.h"

namespace tidemark::interpose {
namespace {

std::string number(std::uint64_t n) {
  return std::to_string(n);
}

// CUPTI's bytes less ours.
std::string difference(const Audit::Row& row) {
  bool const less = row.cupti_alone_bytes < row.ours_alone_bytes;
  return less ? "-" + number(row.ours_alone_bytes - row.cupti_alone_bytes)
              : number(row.cupti_alone_bytes - row.ours_alone_bytes);
}

void add_row(Facts& facts, const std::string& key, const Audit::Row& row) {
  facts.emplace_back(key + ".allocations", number(row.allocations));
  facts.emplace_back(key + ".agreeing", number(row.agreeing));
  facts.emplace_back(key + ".bytes", number(row.agreeing_bytes + row.cupti_alone_bytes));
  facts.emplace_back(key + ".difference_bytes", difference(row));
}

void add_audit(Facts& facts, const Audit::Verdict& v) {
  add_row(facts, "cupti.audit", v.total());
  facts.emplace_back("cupti.audit.releases", number(v.releases));
  facts.emplace_back("cupti.audit.releases_agreeing", number(v.releases_agreeing));
  facts.emplace_back("cupti.audit.unmatched", number(v.unmatched()));
  facts.emplace_back("cupti.audit.unseen", number(v.unseen));
  facts.emplace_back("cupti.audit.static_bytes", number(v.static_bytes));
  facts.emplace_back("cupti.audit.graph_operations", number(v.graph_operations));
  for (std::size_t i = 0; i < v.rows.size(); ++i) {
    if (v.rows[i].allocations == 0) continue;
    add_row(facts, i == Audit::kHost ? "cupti.audit.host" : "cupti.audit.device." + number(i), v.rows[i]);
  }
  std::string samples;
  for (std::size_t i = 0; i < v.sample_count; ++i) samples += v.samples[i] + '\0';
  if (!samples.empty()) facts.emplace_back("cupti.audit.samples", json_array(samples));
}

}  // namespace

std::string audit_word(const CuptiEnd& end) {
  std::uint64_t const odd = end.counts.odd + end.counts.broken_buffers;
  if (!end.audit_refused.empty()) return end.audit_refused;
  if (!end.flush_failed.empty()) return "incomplete: CUPTI did not hand its records over: " + end.flush_failed;
  if (end.dropped_records != 0) return "incomplete: CUPTI dropped " + number(end.dropped_records) + " records";
  if (end.lost_bytes != 0) return "incomplete: " + number(end.lost_bytes) + " bytes of records came too fast";
  if (odd != 0) return "incomplete: " + number(odd) + " records were not understood";
  if (end.verdict.overflowed) return "incomplete: too many operations waited for their counterparts";
  return end.verdict.unmatched() == 0 ? "agrees" : "differs";
}

Facts cupti_facts(const CuptiEnd& end) {
  Facts facts;
  facts.emplace_back("cupti.audit", audit_word(end));
  if (end.audit_refused.empty()) add_audit(facts, end.verdict);
  facts.emplace_back("cupti.records", number(end.counts.records));
  facts.emplace_back("cupti.records.odd", number(end.counts.odd + end.counts.broken_buffers));
  facts.emplace_back("cupti.records.dropped", number(end.dropped_records));
  facts.emplace_back("cupti.kernels", number(end.counts.kernels));
  facts.emplace_back("cupti.kernels.unscoped", number(end.counts.unscoped));
  facts.emplace_back("cupti.kernels.unfinished", number(end.counts.unfinished));
  return facts;
}

}  // namespace tidemark::interpose
