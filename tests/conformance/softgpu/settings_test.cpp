// SPDX-License-Identifier: Apache-2.0
// The environment as the device reads it: what it cannot use stops the program with one line, what it does not know is
// named and the program goes on.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/conformance/softgpu/scenario.h"

namespace conformance {
namespace {

namespace fs = std::filesystem;

long lines(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

void expect_stopped(const Outcome& outcome, const std::string& variable, const std::string& value) {
  EXPECT_EQ(1, outcome.exit_code) << value;
  EXPECT_NE(std::string::npos, outcome.out.find("cudaErrorInitializationError")) << value << ": " << outcome.out;
  EXPECT_NE(std::string::npos, outcome.err.find(variable)) << value << ": " << outcome.err;
  EXPECT_NE(std::string::npos, outcome.err.find(value)) << outcome.err;
  EXPECT_EQ(1, lines(outcome.err)) << outcome.err;
}

TEST(Settings, AValueThatCannotBeReadStopsTheProgram) {
  for (std::string const setting :
       {"SOFTGPU_MEMORY=lots", "SOFTGPU_MEMORY=1KiB", "SOFTGPU_SCHEDULE=soon", "SOFTGPU_SCHEDULE=random:x",
        "SOFTGPU_CLOCK=fast", "SOFTGPU_DEVICES=0", "SOFTGPU_PROFILE=cray-1", "SOFTGPU_KERNEL_TIME=soon",
        "SOFTGPU_CHECK=perhaps", "SOFTGPU_STACK=deep", "SOFTGPU_STACK=8", "SOFTGPU_BLAS_THREADS=0",
        "SOFTGPU_BLAS_THREADS=many", "SOFTGPU_KERNELS=::"}) {
    Outcome const outcome = run(scenario("show_free", {setting}));
    std::string const variable = setting.substr(0, setting.find('='));
    EXPECT_EQ(1, outcome.exit_code) << setting;
    EXPECT_NE(std::string::npos, outcome.err.find(variable)) << setting << ": " << outcome.err;
    EXPECT_EQ(1, lines(outcome.err)) << outcome.err;
  }
}

// A misspelt variable would otherwise be a setting that silently is not there.
TEST(Settings, AVariableThatIsNotKnownIsNamedOnceWithTheNearestOne) {
  Outcome const outcome = run(scenario("allocate_six", {"SOFTGPU_MEMROY=2GiB"}));
  EXPECT_EQ(0, outcome.exit_code) << outcome.err;
  EXPECT_EQ("0 0 0 0 0 0 \n", outcome.out);
  EXPECT_EQ(1, lines(outcome.err)) << outcome.err;
  EXPECT_NE(std::string::npos, outcome.err.find("SOFTGPU_MEMROY")) << outcome.err;
  EXPECT_NE(std::string::npos, outcome.err.find("SOFTGPU_MEMORY")) << outcome.err;
}

TEST(Settings, KnownVariablesAreNotNamed) {
  Outcome const outcome = run(scenario("show_free", {"SOFTGPU_WORKERS=1", "SOFTGPU_STACK=128"}));
  EXPECT_EQ(0, outcome.exit_code);
  EXPECT_EQ("", outcome.err);
}

// Files that cannot be kernel libraries, in a folder of their own.
class KernelLibraries : public testing::Test {
 protected:
  void SetUp() override { fs::create_directory(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  std::string in_folder(const std::string& name) const { return (folder_ / name).string(); }
  std::string file(const std::string& name, const std::string& content) const {
    std::ofstream(in_folder(name), std::ios::binary) << content;
    return in_folder(name);
  }
  static std::string content(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static std::string usable() { return std::string(CONFORMANCE_SCENARIOS) + ".softgpu.so"; }
  // The usable one as if it were built for another processor.
  std::string for_another_processor() const {
    std::string elf = content(usable());
    elf.at(18) = static_cast<char>(183);  // e_machine: EM_AARCH64
    return file("aarch64.so", elf);
  }
  std::vector<std::string> unusable() const {
    fs::create_directory(folder_ / "folder.so");
    return {in_folder("missing.so"),  file("empty.so", ""),    file("text.so", "SOFTGPU_KERNEL(saxpy);\n"),
            in_folder("folder.so"),   for_another_processor(), std::string(CONFORMANCE_SOFTGPU) + "/libcudart.so.13",
            CONFORMANCE_OTHER_VERSION};
  }

  fs::path folder_ = fs::temp_directory_path() / ("softgpu-settings-" + std::to_string(::getpid()));
};

TEST_F(KernelLibraries, OneThatCannotBeUsedStopsTheProgramInEveryMode) {
  for (std::string const& path : unusable())
    for (std::string const mode : {"SOFTGPU_DRY_RUN=", "SOFTGPU_DRY_RUN=0", "SOFTGPU_DRY_RUN=1"})
      expect_stopped(run(scenario("show_free", {"SOFTGPU_KERNELS=" + path, mode})), "SOFTGPU_KERNELS", path);
}

TEST_F(KernelLibraries, OneBadAmongGoodOnesStopsTheProgram) {
  std::string const missing = in_folder("missing.so");
  for (std::string const& files : {usable() + ":" + missing, missing + ":" + usable()})
    expect_stopped(run(scenario("show_free", {"SOFTGPU_KERNELS=" + files, "SOFTGPU_DRY_RUN="})), "SOFTGPU_KERNELS",
                   missing);
}

TEST_F(KernelLibraries, ANameWithoutAFolderIsAFileInTheWorkingFolder) {
  fs::copy_file(usable(), folder_ / "bodies.so");
  Program program = scenario("launch_four", {"SOFTGPU_KERNELS=bodies.so", "SOFTGPU_DRY_RUN=", "SOFTGPU_QUIET=0"});
  program.folder = folder_.string();
  Outcome const outcome = run(program);
  EXPECT_EQ("0 0 0 0 \n", outcome.out) << outcome.err;
  EXPECT_NE(std::string::npos, outcome.err.find("kernels run on the CPU (bodies from bodies.so)")) << outcome.err;
}

// Beside the program nothing was asked for; but what stands there is meant, and a dry run instead would give wrong
// values.
TEST_F(KernelLibraries, OneBesideTheProgramThatCannotBeUsedStopsItUnlessItIsADryRun) {
  std::string const program = in_folder("program");
  fs::copy_file(CONFORMANCE_SCENARIOS, program);
  std::string const beside = file("program.softgpu.so", "not a library");
  for (std::string const mode : {"SOFTGPU_DRY_RUN=", "SOFTGPU_DRY_RUN=0"}) {
    Program copy = scenario("show_free", {mode});
    copy.path = program;
    expect_stopped(run(copy), "SOFTGPU_DRY_RUN=1", beside);
  }
  Program dry = scenario("show_free", {"SOFTGPU_DRY_RUN=1"});
  dry.path = program;
  Outcome const outcome = run(dry);
  EXPECT_EQ(0, outcome.exit_code) << outcome.err;
  EXPECT_EQ("", outcome.err);
}

}  // namespace
}  // namespace conformance
