// SPDX-License-Identifier: Apache-2.0
#include "analysis/facts.h"

#include <sys/wait.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

namespace tidemark::analysis {
namespace {

constexpr unsigned kMostDevices = 256;

std::optional<std::uint64_t> number(const std::string& text) {
  std::uint64_t value = 0;
  auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string device_key(unsigned device, const char* what) {
  return "device." + std::to_string(device) + "." + what;
}

// A JSON array of words; anything else is taken as one word.
std::vector<std::string> words_of(const std::string& text) {
  if (text.empty()) return {};
  auto const parsed = nlohmann::json::parse(text, nullptr, false);
  std::vector<std::string> words;
  if (!parsed.is_array()) return {text};
  for (auto const& word : parsed) {
    if (!word.is_string()) return {text};
    words.push_back(word.get<std::string>());
  }
  return words;
}

// 128 + signal, as shells have it.
std::optional<int> exit_code(std::int32_t status) {
  if (status < 0) return std::nullopt;
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
  return std::nullopt;
}

void add(std::vector<std::pair<std::string, std::uint64_t>>& rows, std::string_view name, std::uint64_t count) {
  if (count != 0) rows.emplace_back(name, count);
}

unsigned device_count(const trace::Trace& trace, const History& history) {
  unsigned count = 0;
  for (Block const& b : history.blocks) count = std::max(count, b.device + 1u);
  for (DeviceSample const& s : history.samples) count = std::max(count, s.device + 1u);
  if (auto const said = number(trace.names().fact("device.count")))
    count = static_cast<unsigned>(std::min<std::uint64_t>(*said, kMostDevices));
  return std::min(count, kMostDevices);
}

}  // namespace

Source read_source(const trace::Trace& trace, const History& history) {
  trace::FileHeader const& h = trace.header();
  Source s;
  s.path = trace.path();
  s.state = h.state == trace::FileState::Closed    ? Source::State::Closed
            : h.state == trace::FileState::Stopped ? Source::State::Stopped
                                                   : Source::State::Open;
  s.complete = trace.complete();
  s.mode = h.mode == trace::Mode::Cache ? "cache" : "observe";
  s.process = h.pid;
  s.duration_ns = history.end_ns;
  s.events = history.changes.size();
  s.missing_bytes = trace.missing_bytes();
  s.lost_events = trace.lost_events();
  for (std::size_t i = 0; i < trace::kLossCount; ++i) add(s.lost, trace::kLossNames[i], h.lost[i]);
  add(s.oddities, "frees without an allocation", history.oddities.frees_without_allocation);
  add(s.oddities, "allocations of an address that was live", history.oddities.allocations_of_live);
  add(s.oddities, "labels of no live block", history.oddities.labels_without_block);
  add(s.oddities, "blocks of an impossible size", history.implausible_sizes);
  add(s.oddities, "events beyond what fits", history.left_out);
  s.command = words_of(trace.names().fact("program.command"));
  s.exit_code = exit_code(h.exit_status);
  if (h.exit_status >= 0 && WIFSIGNALED(h.exit_status)) s.signal = WTERMSIG(h.exit_status);
  s.facts = trace.names().facts();
  return s;
}

std::vector<DeviceRow> read_devices(const trace::Trace& trace, const History& history) {
  std::vector<DeviceRow> devices;
  trace::Names const& names = trace.names();
  auto const limit = number(names.fact("limit_bytes"));
  for (unsigned i = 0; i < device_count(trace, history); ++i) {
    DeviceRow d{.number = i, .name = names.fact(device_key(i, "name"))};
    d.total_bytes = number(names.fact(device_key(i, "total_bytes")));
    d.software = names.fact(device_key(i, "software")) == "1";
    d.dry_run = names.fact(device_key(i, "dry_run")) == "1";
    for (DeviceSample const& s : history.samples)
      if (!d.total_bytes && s.device == i && s.total_bytes != 0) d.total_bytes = s.total_bytes;
    if (limit && (!d.total_bytes || *limit < *d.total_bytes)) d.limit_bytes = limit;
    devices.push_back(std::move(d));
  }
  return devices;
}

Baselines read_context_bytes(const trace::Trace& trace) {
  Baselines shares;
  for (unsigned i = 0; i < kMostDevices; ++i) shares[i] = number(trace.names().fact(device_key(i, "context_bytes")));
  return shares;
}

// What was there before may not have been asked; a context is the least of it.
Baselines read_baselines(const trace::Trace& trace) {
  Baselines baselines = read_context_bytes(trace);
  for (unsigned i = 0; i < kMostDevices; ++i)
    if (auto const bytes = number(trace.names().fact(device_key(i, "baseline_bytes")))) baselines[i] = bytes;
  return baselines;
}

}  // namespace tidemark::analysis
