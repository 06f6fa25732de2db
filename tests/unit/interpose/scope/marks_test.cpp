// SPDX-License-Identifier: Apache-2.0
#include "interpose/scope/marks.h"

#include <pthread.h>

#include <set>
#include <thread>

#include "interpose/record/thread.h"
#include "tests/unit/trace/fixture.h"

namespace tidemark::interpose {
namespace {

using trace::Phase;

class MarksTest : public testing::Test {
 protected:
  MarksTest() { EXPECT_TRUE(names_.start(file_)); }

  std::string path() {
    std::uint32_t const id = marks_.path(names_);
    return trace::read_back(file_.path()).names().path(id);
  }
  static MarkOwner domain(std::uint64_t id) { return {MarkOwner::Domain, id}; }
  static MarkOwner range(std::uint64_t id) { return {MarkOwner::Range, id}; }

  trace::Folder folder_;
  trace::File& file_ = trace::make_file(folder_.file("a.tide"));
  trace::Dictionary names_;
  Marks marks_{};
};

TEST_F(MarksTest, LayersNestByDots) {
  EXPECT_EQ(path(), "");
  marks_.push_layer("encoder");
  marks_.push_layer("3");
  EXPECT_EQ(path(), "encoder.3");
  marks_.push_layer("encoder.3.attn");
  EXPECT_EQ(path(), "encoder.3.attn") << "a whole name is a part of the layer that it names";
  marks_.pop_layer();
  marks_.pop_layer();
  EXPECT_EQ(path(), "encoder");
  marks_.pop_layer();
  marks_.pop_layer();
  EXPECT_EQ(path(), "");
}

TEST_F(MarksTest, NamesAreGivenLater) {
  marks_.push_layer("a");
  marks_.push_layer("");
  marks_.push_layer("b");
  EXPECT_EQ(path(), "a.b");
  marks_.pop_layer();
  EXPECT_EQ(path(), "a");
}

TEST_F(MarksTest, AMarkWithoutANameIsAPlaceInTheStack) {
  marks_.push_layer("");
  EXPECT_EQ(path(), "");
  marks_.push_layer("a");
  marks_.push_layer("");
  EXPECT_EQ(path(), "a");
  marks_.push_layer("b");
  EXPECT_EQ(path(), "a.b");
  marks_.pop_layer();
  marks_.pop_layer();
  EXPECT_EQ(path(), "a");
  marks_.pop_layer();
  EXPECT_EQ(path(), "");
}

TEST_F(MarksTest, EachTakesAwayHisOwn) {
  marks_.push_layer("api");
  marks_.push_layer("one", domain(1));
  marks_.push_layer("two", domain(2));
  EXPECT_EQ(marks_.close(domain(1)), Marks::What::Layer);
  EXPECT_EQ(path(), "api.one.two") << "what is open inside keeps its name";
  marks_.pop_layer();
  EXPECT_EQ(path(), "api.one.two");
  EXPECT_EQ(marks_.close(domain(1)), Marks::What::Nothing);
  EXPECT_EQ(marks_.close(domain(2)), Marks::What::Layer);
  EXPECT_EQ(path(), "");
}

// One that is closed out of turn before anything was named, and one in between.
TEST_F(MarksTest, ClosedOutOfTurnTheOthersStayNamed) {
  for (bool const named_before : {false, true}) {
    marks_.push_layer("a", range(1));
    marks_.push_layer("b", range(2));
    if (named_before) marks_.path(names_);
    marks_.push_layer("c", range(3));
    marks_.close(range(1));
    EXPECT_EQ(path(), "a.b.c");
    marks_.push_layer("d", range(4));
    EXPECT_EQ(path(), "a.b.c.d");
    marks_.close(range(2));
    marks_.close(range(4));
    EXPECT_EQ(path(), "a.b.c");
    marks_.close(range(3));
    EXPECT_EQ(path(), "");
  }
}

TEST_F(MarksTest, LayersAndPhasesOfOneOwnerAreOneStack) {
  marks_.push_phase(Phase::Forward, domain(1));
  marks_.push_layer("conv", domain(1));
  marks_.push_phase(Phase::Eval, domain(1));
  EXPECT_EQ(marks_.phase(), Phase::Eval);
  EXPECT_EQ(marks_.close(domain(1)), Marks::What::Phase);
  EXPECT_EQ(marks_.phase(), Phase::Forward);
  EXPECT_EQ(path(), "conv");
  EXPECT_EQ(marks_.close(domain(1)), Marks::What::Layer);
  EXPECT_EQ(path(), "");
  EXPECT_EQ(marks_.close(domain(1)), Marks::What::Phase);
  EXPECT_EQ(marks_.phase(), Phase::Other);
  EXPECT_EQ(marks_.close(domain(1)), Marks::What::Nothing);
}

TEST_F(MarksTest, PhasesOfTheApiAndOfRangesDoNotTakeEachOther) {
  marks_.push_phase(Phase::Forward);
  marks_.push_phase(Phase::Backward, domain(1));
  marks_.pop_phase();
  EXPECT_EQ(marks_.phase(), Phase::Backward);
  marks_.close(domain(1));
  EXPECT_EQ(marks_.phase(), Phase::Other);
}

TEST_F(MarksTest, WhatIsTooDeepIsCountedAndBelongsToTheInnermost) {
  for (int i = 0; i < 400; ++i) marks_.push_layer("l", domain(1));
  std::string const deepest = path();
  marks_.push_layer("api");
  EXPECT_EQ(path(), deepest);
  for (int i = 0; i < 401 - 255; ++i) marks_.close(domain(1));
  EXPECT_EQ(path().size(), deepest.size() - 2);
  for (int i = 0; i < 255; ++i) marks_.close(domain(1));
  EXPECT_EQ(path(), "");
  for (int i = 0; i < 300; ++i) marks_.push_phase(Phase::Forward, domain(1));
  for (int i = 0; i < 299; ++i) EXPECT_EQ(marks_.close(domain(1)), Marks::What::Phase);
  EXPECT_EQ(marks_.phase(), Phase::Forward);
  marks_.close(domain(1));
  EXPECT_EQ(marks_.phase(), Phase::Other);
}

TEST_F(MarksTest, LongNamesAreCutAndNothingElse) {
  std::string const name(5000, 'n');
  marks_.push_layer(name);
  marks_.push_layer(name);
  marks_.push_layer("x");
  marks_.path(names_);
  marks_.pop_layer();
  marks_.pop_layer();
  marks_.pop_layer();
  marks_.push_layer("y");
  EXPECT_EQ(path(), "y");
}

TEST_F(MarksTest, RangesThatOthersHaveEndedAreClosed) {
  std::set<std::uint64_t> open{1, 2, 3};
  auto const still_open = [&](std::uint64_t id) { return open.contains(id); };
  marks_.push_layer("a", range(1));
  marks_.push_layer("b", range(2));
  marks_.push_phase(Phase::Forward, range(3));
  EXPECT_FALSE(marks_.disturbed());
  open = {2};
  marks_.ended_elsewhere();
  EXPECT_TRUE(marks_.disturbed());
  EXPECT_TRUE(marks_.settle(still_open));
  EXPECT_FALSE(marks_.disturbed());
  EXPECT_EQ(path(), "a.b");
  EXPECT_EQ(marks_.phase(), Phase::Other);
  open.clear();
  marks_.ended_elsewhere();
  EXPECT_TRUE(marks_.settle(still_open));
  EXPECT_EQ(path(), "");
  marks_.ended_elsewhere();
  EXPECT_FALSE(marks_.settle(still_open)) << "nothing was left";
}

TEST(Marks, AThreadGetsThoseOfAnEndedOneEmpty) {
  Marks* first = nullptr;
  std::thread([&] {
    first = Marks::mine();
    first->push_layer("left open");
    first->push_phase(Phase::Forward);
  }).join();
  std::thread([&] {
    Marks* const second = Marks::mine();
    EXPECT_EQ(second, first);
    EXPECT_EQ(second->phase(), Phase::Other);
    EXPECT_EQ(second->close({}), Marks::What::Nothing);
    EXPECT_EQ(Marks::mine(), second);
  }).join();
}

}  // namespace
}  // namespace tidemark::interpose
