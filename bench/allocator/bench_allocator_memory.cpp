// SPDX-License-Identifier: Apache-2.0
// usage: bench_allocator_memory [--short] [--json] [--traces DIR] [--only TEXT] [--peers A,B,...] [--budget SECONDS]
// What does an allocator take of the device for what is live, how many calls of the driver does it make, and how small
// a device will do? Recorded runs (torch-snapshots/ below DIR, else the repository's), batches of variable length
// (azure-llm/ below DIR, else drawn), gathers on a second stream, and what people complain of; ours beside its peers on
// the software device. Without --json a table, else JSON.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "bench/allocator/peers.h"
#include "bench/allocator/player.h"
#include "bench/allocator/process_set.h"

namespace {

using namespace tidemark;
using namespace tidemark::bench;

constexpr int kDoesNotFit = 3;
constexpr int kNotHere = 4;
constexpr std::uint64_t kFrame = 2 << 20;

struct Settings {
  bool brief = false, json = false;
  std::string traces, only, peers, peer, script, look;
  double budget_seconds = 0;
} g;

// --- one process -----------------------------------------------------------------------------------------------------

// Without what looking at the clock costs.
void tell_times(std::vector<std::uint64_t> ticks) {
  if (ticks.empty()) return;
  trace::Clock const clock = trace::Clock::pick();
  std::vector<std::uint64_t> looks(1000);
  for (std::uint64_t& look : looks) {
    std::uint64_t const begin = clock.now_ordered();
    look = clock.now_ordered() - begin;
  }
  auto const at = [](std::vector<std::uint64_t>& sorted, double share) {
    std::sort(sorted.begin(), sorted.end());
    return static_cast<double>(sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))]);
  };
  double const look = at(looks, 0.5);
  double const ns_per_tick = 1e9 / static_cast<double>(clock.ticks_per_second());
  answer("p50_ns", std::max(0.0, at(ticks, 0.5) - look) * ns_per_tick);
  answer("p99_ns", std::max(0.0, at(ticks, 0.99) - look) * ns_per_tick);
}

int measure(const Script& script) {
  Device device(script.streams);
  Look const look = g.look == "reserved" ? Look::Reserved : g.look == "time" ? Look::Time : Look::Nothing;
  bool fits = false;
  auto const run = [&](auto& peer) {
    Played const played = Player(device, peer, script, look).play();
    fits = played.fits;
    if (!fits) return;
    answer("reserved", static_cast<double>(played.peak_reserved_bytes));
    answer("last_reserved", static_cast<double>(played.last_reserved_bytes));
    answer("calls", static_cast<double>(played.calls.memory));
    answer("last_calls", static_cast<double>(played.last_calls.memory));
    answer("last_events", static_cast<double>(played.last_calls.events));
    tell_times(played.ticks);
    if constexpr (requires { peer.statistics().plan_search_ns; })
      answer("planning_seconds", static_cast<double>(peer.statistics().plan_search_ns) * 1e-9);
  };
  if (!with_peer(g.peer, device, run, g.budget_seconds)) return kNotHere;
  return fits ? 0 : kDoesNotFit;
}

// --- all of them -----------------------------------------------------------------------------------------------------

struct Row {
  std::string script, peer;
  std::uint64_t live_bytes = 0, reserved_bytes = 0, last_reserved_bytes = 0;
  std::uint64_t fits_bytes = 0;  // the smallest device; 0: not looked for
  std::uint64_t calls = 0, last_calls = 0, last_events = 0;
  double p50_ns = 0, p99_ns = 0;
  double planning_seconds = -1;
  double ratio(std::uint64_t bytes) const { return static_cast<double>(bytes) / static_cast<double>(live_bytes); }
};

std::vector<std::string> arguments_for(const Script& script, const char* look) {
  std::vector<std::string> words = {"--script", script.name, "--look",
                                    look,       "--budget",  std::to_string(g.budget_seconds)};
  if (!g.traces.empty()) words.insert(words.end(), {"--traces", g.traces});
  if (g.brief) words.emplace_back("--short");
  return words;
}

Answer play(const PeerName& peer, const Script& script, const char* look, std::uint64_t memory_bytes) {
  std::string environment = "SOFTGPU_CONTEXT=0 SOFTGPU_SCHEDULE=" + script.schedule;
  if (memory_bytes != 0) environment += " SOFTGPU_MEMORY=" + std::to_string(memory_bytes);
  Answer answer = ask(peer, arguments_for(script, look), environment);
  if (answer.exit_code != 0 && answer.exit_code != kDoesNotFit && answer.exit_code != kNotHere) {
    std::fprintf(stderr, "%sbench_allocator_memory: %s, %s: failed with %d\n", answer.talk.c_str(), peer.name,
                 script.name.c_str(), answer.exit_code);
    std::exit(1);
  }
  return answer;
}

// To 0.2 % of what is live. What fits at all fits on a device of what was reserved where there was plenty, or nearly.
std::uint64_t smallest_device(const PeerName& peer, const Script& script, std::uint64_t reserved_bytes) {
  auto const fits = [&](std::uint64_t bytes) { return play(peer, script, "nothing", bytes).exit_code == 0; };
  std::uint64_t low = script.peak_live_bytes / kFrame * kFrame;  // does not fit, or is as good as it gets
  std::uint64_t high = round_up(reserved_bytes, kFrame);
  while (!fits(high)) {
    low = high;
    high = round_up(high + high / 4, kFrame);
  }
  std::uint64_t const exact = std::max(kFrame, script.peak_live_bytes / (g.brief ? 10 : 500));
  while (high - low > exact) {
    std::uint64_t const middle = (low + (high - low) / 2) / kFrame * kFrame;
    if (middle == low) break;
    (fits(middle) ? high : low) = middle;
  }
  return high;
}

bool takes_part(const PeerName& peer, const Script& script) {
  std::string const name = peer.name;
  if (!g.peers.empty() && ("," + g.peers + ",").find("," + name + ",") == std::string::npos) return false;
  for (const char* const other : {"tidemark", "tidemark alone", "tidemark recorded", "pytorch history", "mimalloc"})
    if (name == other) return false;
  if (name == "tidemark unordered") return script.streams > 1;
  if (name == "tidemark planned") return script.repeat > 1 || script.loops;
  // A model has one stream and no device that could be full.
  return !name.ends_with("rules") ||
         (script.streams == 1 && script.schedule == "eager" && script.name != "another library");
}

bool row_of(const PeerName& peer, const Script& script, Row& row) {
  Answer const got = play(peer, script, "reserved", 0);
  if (got.exit_code != 0) return false;
  auto const number = [&](const char* name) { return static_cast<std::uint64_t>(got[name]); };
  row = {.script = script.name,
         .peer = peer.name,
         .live_bytes = script.peak_live_bytes,
         .reserved_bytes = number("reserved"),
         .last_reserved_bytes = number("last_reserved"),
         .calls = number("calls"),
         .last_calls = number("last_calls"),
         .last_events = number("last_events")};
  Answer const timed = play(peer, script, "time", 0);
  row.p50_ns = timed["p50_ns"];
  row.p99_ns = timed["p99_ns"];
  if (row.peer == "tidemark planned") row.planning_seconds = timed["planning_seconds"];
  if (!row.peer.ends_with("rules")) row.fits_bytes = smallest_device(peer, script, row.reserved_bytes);
  return true;
}

void print_text(const Script& script, const std::vector<Row>& rows) {
  std::printf("\n%s: %s; %s live%s\n", script.name.c_str(), script.what.c_str(),
              format_bytes({script.peak_live_bytes}).c_str(),
              script.repeat > 1 ? (", " + std::to_string(script.repeat) + " rounds").c_str() : "");
  std::printf("  %-20s %9s %9s %9s %8s %8s %8s %9s %9s\n", "", "reserved", "last", "smallest", "driver", "calls of",
              "events", "ns of a", "");
  std::printf("  %-20s %9s %9s %9s %8s %8s %8s %9s %9s\n", "", "/ live", "round", "device", "calls", "the last",
              "there", "call p50", "p99");
  for (const Row& r : rows) {
    std::printf("  %-20s %9.3f %9.3f ", r.peer.c_str(), r.ratio(r.reserved_bytes), r.ratio(r.last_reserved_bytes));
    r.fits_bytes == 0 ? std::printf("%9s", "-") : std::printf("%9.3f", r.ratio(r.fits_bytes));
    std::printf(" %8llu %8llu %8llu %9.0f %9.0f", static_cast<unsigned long long>(r.calls),
                static_cast<unsigned long long>(r.last_calls), static_cast<unsigned long long>(r.last_events), r.p50_ns,
                r.p99_ns);
    r.planning_seconds < 0 ? std::printf("\n") : std::printf("   planned in %.3f s\n", r.planning_seconds);
  }
  std::fflush(stdout);
}

nlohmann::ordered_json as_json(const Row& r) {
  nlohmann::ordered_json row = {{"script", r.script},
                                {"allocator", r.peer},
                                {"peak_live_bytes", r.live_bytes},
                                {"peak_reserved_bytes", r.reserved_bytes},
                                {"ratio", r.ratio(r.reserved_bytes)},
                                {"last_ratio", r.ratio(r.last_reserved_bytes)},
                                {"driver_calls", r.calls},
                                {"last_driver_calls", r.last_calls},
                                {"last_event_calls", r.last_events},
                                {"p50_ns", r.p50_ns},
                                {"p99_ns", r.p99_ns}};
  if (r.fits_bytes != 0) row["smallest_device_ratio"] = r.ratio(r.fits_bytes);
  if (r.planning_seconds >= 0) row["planning_seconds"] = r.planning_seconds;
  return row;
}

int compare(const std::vector<Script>& scripts) {
  nlohmann::ordered_json all = {{"bench", "allocator_memory"},
                                {"machine", machine()},
                                {"commit", commit()},
                                {"torch", torch() != nullptr ? torch()->version : "rules"}};
  if (!g.json)
    std::printf("%s, commit %s; PyTorch: %s\n", machine().c_str(), commit().c_str(),
                torch() != nullptr ? torch()->version : "not here (tools/setup --torch), its rules as a model");
  for (const Script& script : scripts) {
    if (script.name.find(g.only) == std::string::npos) continue;
    std::vector<Row> rows;
    for (const PeerName& peer : kPeers)
      if (Row row; takes_part(peer, script) && row_of(peer, script, row)) rows.push_back(row);
    if (!g.json) print_text(script, rows);
    for (const Row& row : rows) all["rows"].push_back(as_json(row));
  }
  if (g.json) std::printf("%s\n", all.dump(2).c_str());
  return 0;
}

ScriptSources sources() {
  ScriptSources s{.snapshots = BENCH_SOURCES "/tests/data/torch-snapshots", .brief = g.brief};
  if (g.traces.empty()) return s;
  if (std::filesystem::is_directory(g.traces + "/torch-snapshots")) s.snapshots = g.traces + "/torch-snapshots";
  std::string const lengths = g.traces + "/azure-llm/AzureLLMInferenceTrace_conv.csv.gz";
  if (std::filesystem::exists(lengths)) s.lengths = lengths;
  return s;
}

}  // namespace

int main(int count, char** arguments) {
  if (const char* const folder = std::getenv("TIDEMARK_ALLOCATOR_TRACES")) g.traces = folder;
  for (int i = 1; i < count; ++i) {
    std::string const word = arguments[i];
    if (word == "--short") g.brief = true;
    if (word == "--json") g.json = true;
    if (i + 1 >= count) continue;
    if (word == "--traces") g.traces = arguments[++i];
    if (word == "--only") g.only = arguments[++i];
    if (word == "--peers") g.peers = arguments[++i];
    if (word == "--peer") g.peer = arguments[++i];
    if (word == "--script") g.script = arguments[++i];
    if (word == "--look") g.look = arguments[++i];
    if (word == "--budget") g.budget_seconds = std::atof(arguments[++i]);
  }
  std::vector<Script> scripts = all_scripts(sources());
  if (g.brief)
    for (Script& script : scripts) script.repeat = std::min<std::uint64_t>(script.repeat, 5);
  if (g.peer.empty()) return compare(scripts);
  for (const Script& script : scripts)
    if (script.name == g.script) return measure(script);
  return 2;
}
