// SPDX-License-Identifier: Apache-2.0
#include "interpose/process/options.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <initializer_list>

namespace tidemark::interpose {
namespace {

// Variables for a test's scope; those of launchers that the test may itself run under are taken away.
class Environment {
 public:
  Environment(std::initializer_list<std::pair<const char*, const char*>> variables) {
    for (const char* const name :
         {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "LOCAL_RANK"})
      unsetenv(name);
    for (auto const& [name, value] : variables) {
      setenv(name, value, 1);
      names_.push_back(name);
    }
  }
  ~Environment() {
    for (const char* const name : names_) unsetenv(name);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::vector<const char*> names_;
};

TEST(ExpandPath, PutsInProcessAndRank) {
  Environment const none{};
  EXPECT_EQ(expand_path("trace-%p.tide", 42), "trace-42.tide");
  EXPECT_EQ(expand_path("%p/%p", 7), "7/7");
  EXPECT_EQ(expand_path("r%r", 1), "r0");
  EXPECT_EQ(expand_path("", 1), "");
}

TEST(ExpandPath, LeavesOtherPerCentSigns) {
  Environment const none{};
  EXPECT_EQ(expand_path("100%%", 1), "100%");
  EXPECT_EQ(expand_path("%%p", 1), "%p");
  EXPECT_EQ(expand_path("%x-%", 1), "%x-%");
  EXPECT_EQ(expand_path("%%%p%", 5), "%5%");
}

TEST(ExpandPath, TakesTheRankFromAnyLauncher) {
  for (const char* const name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "LOCAL_RANK"}) {
    Environment const launcher{{name, "3"}};
    EXPECT_EQ(expand_path("%r", 1), "3") << name;
  }
  Environment const both{{"LOCAL_RANK", "1"}, {"RANK", "9"}};
  EXPECT_EQ(expand_path("%r", 1), "9") << "the rank among all comes before the one on this machine";
}

TEST(WithSuffix, StandsBeforeTheEnding) {
  EXPECT_EQ(with_suffix("run.tide", 7), "run-7.tide");
  EXPECT_EQ(with_suffix("/a.b/run", 7), "/a.b/run-7");
  EXPECT_EQ(with_suffix("/a/run.x.tide", 7), "/a/run.x-7.tide");
  EXPECT_EQ(with_suffix("run", 7), "run-7");
  EXPECT_EQ(with_suffix(".hidden", 7), ".hidden-7");
  EXPECT_EQ(with_suffix("/a/.hidden", 7), "/a/.hidden-7");
  EXPECT_EQ(with_suffix("a/", 7), "a/-7");
}

TEST(Options, HaveDefaults) {
  Environment const none{};
  auto const options = Options::from_environment();
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->out, "tidemark-%p.tide");
  EXPECT_EQ(options->limit_bytes, 0u);
  EXPECT_EQ(options->ring_bytes, 0u);
  EXPECT_FALSE(options->stacks);
  EXPECT_TRUE(options->summary);
}

TEST(Options, AreReadFromTheEnvironment) {
  Environment const all{{"TIDEMARK_OUT", "x.tide"}, {"TIDEMARK_MODE", "observe"}, {"TIDEMARK_LIMIT", "8GiB"},
                        {"TIDEMARK_STACKS", "1"},   {"TIDEMARK_SUMMARY", "off"},  {"TIDEMARK_RUN", "abc"}};
  auto const options = Options::from_environment();
  ASSERT_TRUE(options.ok()) << options.error().what;
  EXPECT_EQ(options->out, "x.tide");
  EXPECT_EQ(options->limit_bytes, std::uint64_t{8} << 30);
  EXPECT_TRUE(options->stacks);
  EXPECT_FALSE(options->summary);
  EXPECT_EQ(options->run, "abc");
}

TEST(Options, EmptyIsNotSet) {
  Environment const empty{{"TIDEMARK_OUT", ""}, {"TIDEMARK_LIMIT", ""}, {"TIDEMARK_MODE", ""}, {"TIDEMARK_STACKS", ""}};
  auto const options = Options::from_environment();
  ASSERT_TRUE(options.ok()) << options.error().what;
  EXPECT_EQ(options->out, "tidemark-%p.tide");
}

TEST(Options, WrongOnesAreNamedWithAWayOut) {
  for (auto const& [name, value] : {std::pair{"TIDEMARK_MODE", "fast"},
                                    {"TIDEMARK_LIMIT", "8 bananas"},
                                    {"TIDEMARK_LIMIT", "-1"},
                                    {"TIDEMARK_RING", "1e99GiB"},
                                    {"TIDEMARK_STACKS", "perhaps"},
                                    {"TIDEMARK_SUMMARY", "2"},
                                    {"TIDEMARK_CUPTI", "x"}}) {
    Environment const wrong{{name, value}};
    auto const options = Options::from_environment();
    ASSERT_FALSE(options.ok()) << name << "=" << value;
    EXPECT_NE(options.error().what.find(name), std::string::npos) << options.error().what;
    EXPECT_FALSE(options.error().hint.empty()) << name;
  }
}

}  // namespace
}  // namespace tidemark::interpose
