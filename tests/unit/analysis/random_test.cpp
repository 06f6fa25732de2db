// SPDX-License-Identifier: Apache-2.0
// Random programs, written by the writer itself and compared with the slow account at every instant.
#include <random>

#include "analysis/anatomy.h"
#include "analysis/facts.h"
#include "tests/unit/analysis/fixture.h"
#include "tests/unit/analysis/reference.h"

namespace tidemark::analysis {
namespace {

constexpr std::uint64_t kBaseline = 1000;
constexpr unsigned kDevices = 2;

// Several lanes, written by one thread: the clock tells their order.
class Program {
 public:
  Program(const std::string& path, std::uint64_t seed) : random_(seed), file_(trace::make_file(path)) {
    EXPECT_TRUE(names_.start(file_));
    for (unsigned d = 0; d < kDevices; ++d)
      names_.fact("device." + std::to_string(d) + ".baseline_bytes", std::to_string(kBaseline));
    lanes_ = std::vector<trace::Lane>(1 + below(4));
    states_.resize(lanes_.size());
    for (std::uint32_t i = 0; i < lanes_.size(); ++i) lanes_[i].start(file_, i + 1);
    for (int i = 0; i < 5; ++i) paths_.push_back("layer" + std::to_string(i));
  }

  Reference run(int operations) {
    for (int i = 0; i < operations; ++i) {
      lane_ = below(lanes_.size());
      // Two stamps are never the same, so that the clock does tell.
      for (auto const before = file_.clock().now(); file_.clock().now() == before;) {
      }
      operate(below(20));
    }
    file_.close(trace::FileState::Closed);
    return std::move(reference_);
  }

 private:
  struct State {
    std::string layer = "(unscoped)", phase = "other", stack = "(no stack)";
    unsigned device = 0;
  };

  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  trace::Lane& lane() { return lanes_[lane_]; }
  State& state() { return states_[lane_]; }

  void operate(std::uint64_t what) {
    if (what < 8) return alloc();
    if (what < 14) return free();
    if (what < 16) return label();
    switch (what) {
      case 16: {
        std::string const& name = paths_[below(paths_.size())];
        lane().enter(names_.path(0, name));
        state().layer = name;
        return;
      }
      case 17: {
        auto const phase = static_cast<Phase>(below(trace::kPhaseNames.size()));
        lane().phase(phase);
        state().phase = trace::name(phase);
        return;
      }
      case 18: {
        lane().step(step_);
        step_name_ = "step " + std::to_string(step_++);
        return;
      }
      default: return other();
    }
  }
  void other() {
    switch (below(4)) {
      case 0:
        lane().leave(0);
        state().layer = "(unscoped)";
        return;
      case 1: {
        std::uint64_t const frame = 0x100 + below(3);
        std::uint32_t const stack = names_.stack({.frames = {&frame, 1}});
        lane().stack(stack);
        state().stack = "stack " + std::to_string(stack);
        return;
      }
      case 2:
        state().device = static_cast<unsigned>(below(kDevices));
        lane().device(static_cast<std::uint8_t>(state().device));
        return;
      default: {
        auto const device = static_cast<unsigned>(below(kDevices));
        std::uint64_t const used = below(100'000);
        lane().device_use({.device = device, .used_bytes = used});
        reference_.sampled(device, used);
        return;
      }
    }
  }

  void alloc() {
    static constexpr Class kClasses[] = {Class::Device, Class::Device,   Class::Device,  Class::Pool,  Class::Pinned,
                                         Class::Array,  Class::Physical, Class::Managed, Class::Graph, Class::Imported};
    trace::Block b{.address = (1 + below(200)) << 9, .size_bytes = below(5000), .block_class = kClasses[below(10)]};
    for (Live const& l : live_)
      if (l.block.address == b.address) return;
    bool const served = b.block_class == Class::Device && below(2) == 0;
    if (served) {
      auto& generation = generations_[b.address];
      b.generation = generation = generation == 255 ? 1 : generation + 1;
    }
    lane().alloc(b);
    std::size_t const number = reference_.born({.size_bytes = b.size_bytes,
                                                .block_class = b.block_class,
                                                .layer = state().layer,
                                                .phase = state().phase,
                                                .step = step_name_,
                                                .stack = state().stack,
                                                .device = state().device});
    live_.push_back({b, number});
  }
  void free() {
    if (live_.empty()) return;
    std::size_t const i = below(live_.size());
    lane().free(live_[i].block);
    reference_.died(live_[i].number);
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  void label() {
    if (live_.empty()) return;
    Live const& l = live_[below(live_.size())];
    if (l.block.block_class == Class::Array || l.block.block_class == Class::Physical)
      return;  // handles, not addresses
    auto const kind = static_cast<Kind>(below(trace::kKindNames.size()));
    lane().label(l.block.address, kind, 0);
    reference_.marked(l.number, kind);
  }

  struct Live {
    trace::Block block;
    std::size_t number;
  };
  std::mt19937_64 random_;
  trace::File& file_;
  trace::Dictionary names_;
  std::vector<trace::Lane> lanes_;
  std::vector<State> states_;
  std::vector<std::string> paths_;
  std::vector<Live> live_;
  std::map<std::uint64_t, std::uint8_t> generations_;
  std::size_t lane_ = 0;
  std::uint64_t step_ = 0;
  std::string step_name_ = "(before the first step)";
  Reference reference_;
};

std::map<std::string, std::uint64_t> as_map(const std::vector<Row>& rows) {
  std::map<std::string, std::uint64_t> map;
  for (Row const& r : rows) map[r.name] = r.live_bytes;
  return map;
}

void compare(const History& h, const Baselines& baselines, const Reference& reference) {
  Selection const all(h, {});
  for (std::uint64_t at = 0; at <= reference.changes(); ++at) {
    Anatomy const a = dissect(h, all, baselines, {.at = at}, 0);
    ASSERT_EQ(a.live_bytes, reference.live(at)) << "after " << at << " changes";
    ASSERT_EQ(a.requested_bytes, reference.requested(at));
    ASSERT_EQ(a.reserved_bytes, reference.reserved(at, kBaseline, kDevices)) << "after " << at << " changes";
    using Block = Reference::Block;
    ASSERT_EQ(as_map(a.by_layer), reference.by(at, [](const Block& b) { return b.layer; }));
    ASSERT_EQ(as_map(a.by_phase), reference.by(at, [](const Block& b) { return b.phase; }));
    ASSERT_EQ(as_map(a.by_step), reference.by(at, [](const Block& b) { return b.step; }));
    ASSERT_EQ(as_map(a.by_stack), reference.by(at, [](const Block& b) { return b.stack; }));
    ASSERT_EQ(as_map(a.by_kind), reference.by(at, [&](const Block& b) { return Reference::kind(b, at); }));
    for (auto const* rows : {&a.by_layer, &a.by_phase, &a.by_step, &a.by_stack, &a.by_kind})
      ASSERT_EQ(sum(*rows), a.live_bytes);
  }
}

TEST(RandomPrograms, EveryInstantAgreesWithTheSlowAccountToTheByte) {
  trace::Folder const folder;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::string const path = folder.file(std::to_string(seed) + ".tide");
    Reference const reference = Program(path, seed).run(400);
    trace::Trace const trace = trace::read_back(path);
    History const history = read_history(trace);
    ASSERT_EQ(history.oddities.total(), 0u);
    ASSERT_EQ(history.changes.size(), reference.changes());
    ASSERT_NO_FATAL_FAILURE(compare(history, read_baselines(trace), reference));
  }
}

// Peaks, layers, steps and classes of the summary, from the slow account.
TEST(RandomPrograms, SummariesAgreeWithTheSlowAccount) {
  trace::Folder const folder;
  for (std::uint64_t seed = 100; seed < 140; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::string const path = folder.file(std::to_string(seed) + ".tide");
    Reference const reference = Program(path, seed).run(400);
    auto const summary = summarize(trace::read_back(path), {.timeline_points = 50});
    ASSERT_TRUE(summary.ok());
    std::uint64_t peak = 0, at = 0, requested = 0, reserved = 0;
    std::map<std::string, std::uint64_t> layers;
    for (std::uint64_t i = 0; i <= reference.changes(); ++i) {
      if (reference.live(i) > peak) at = i;
      peak = std::max(peak, reference.live(i));
      requested = std::max(requested, reference.requested(i));
      reserved = std::max(reserved, reference.reserved(i, kBaseline, kDevices));
      for (auto const& [layer, bytes] : reference.by(i, [](const auto& b) { return b.layer; }))
        layers[layer] = std::max(layers[layer], bytes);
    }
    EXPECT_EQ(summary->peak.live_bytes, peak);
    EXPECT_EQ(summary->peak.requested_bytes, reference.requested(at));
    EXPECT_EQ(summary->peak_requested_bytes, requested);
    // Between two changes the driver may say several things; the slow account has the last.
    EXPECT_GE(summary->peak_reserved_bytes, reserved);
    EXPECT_GE(summary->peak.reserved_bytes, summary->peak.live_bytes);
    EXPECT_EQ(summary->end_live_bytes, reference.live(reference.changes()));
    EXPECT_EQ(as_map(summary->peak.by_layer), reference.by(at, [](const auto& b) { return b.layer; }));
    std::map<std::string, std::uint64_t> got;
    for (LayerRow const& l : summary->layers)
      if (l.peak_live_bytes != 0) got[l.name] = l.peak_live_bytes;
    std::erase_if(layers, [](const auto& l) { return l.second == 0; });
    EXPECT_EQ(got, layers);
    std::uint64_t highest = 0;
    for (TimelinePoint const& p : summary->timeline) highest = std::max(highest, p.live_bytes);
    EXPECT_EQ(highest, peak) << "no peak is lost in a timeline";
    EXPECT_EQ(summary->timeline.size(), 50u);
  }
}

}  // namespace
}  // namespace tidemark::analysis
