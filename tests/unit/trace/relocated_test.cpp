// SPDX-License-Identifier: Apache-2.0
// Files on a file system that does not promise space. There is none here: what the system says about the files of one
// folder is put in its mouth, by definitions that stand before the C library's.
#include <errno.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/trace/fixture.h"

namespace {

struct {
  std::string folder;  // its files are meant
  long type = 0;       // of its file system; 0: as it is
  int space = 0;       // why no space can be taken; 0: it can
  int links = 0;       // why no links can be made
} told;

bool is_meant(int file) {
  char path[4096] = {};
  std::string const link = "/proc/self/fd/" + std::to_string(file);
  return !told.folder.empty() && readlink(link.c_str(), path, sizeof path - 1) > 0 &&
         std::string_view(path).starts_with(told.folder);
}

int refuse(int why) {
  errno = why;
  return -1;
}

}  // namespace

extern "C" int fstatfs(int file, struct statfs* info) noexcept {
  auto const result = static_cast<int>(syscall(SYS_fstatfs, file, info));
  if (result == 0 && told.type != 0 && is_meant(file)) info->f_type = told.type;
  return result;
}
extern "C" int fallocate(int file, int mode, off_t begin, off_t bytes) {
  if (told.space != 0 && is_meant(file)) return refuse(told.space);
  return static_cast<int>(syscall(SYS_fallocate, file, mode, begin, bytes));
}
extern "C" int symlink(const char* target, const char* path) noexcept {
  return told.links != 0 ? refuse(told.links) : static_cast<int>(syscall(SYS_symlink, target, path));
}

namespace tidemark::trace {
namespace {

namespace fs = std::filesystem;

constexpr long kNfs = 0x6969;

class RelocatedTrace : public testing::Test {
 protected:
  RelocatedTrace() { told.folder = home.file(""); }
  ~RelocatedTrace() override { told = {}; }

  File& make(const std::string& name) {
    return make_file({.path = home.file(name), .fallback_folder = memory.file("")});
  }
  std::size_t files_in(const Folder& folder) const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder.file("")), fs::directory_iterator()));
  }

  Folder const home, memory;
};

TEST_F(RelocatedTrace, IsWhereSpaceIsPromised) {
  struct Row {
    const char* name;
    long type;
    int space;
  };
  for (Row const& row : {Row{"nfs", kNfs, 0}, Row{"fuse", 0x65735546, 0}, Row{"btrfs", 0x9123683e, 0},
                         Row{"gpfs", 0x47504653, 0}, Row{"refused", 0, EOPNOTSUPP}, Row{"unknown", 0, ENOSYS}}) {
    told.type = row.type;
    told.space = row.space;
    File& file = make(row.name);
    EXPECT_TRUE(file.relocated()) << row.name;
    EXPECT_TRUE(std::string(file.path()).starts_with(memory.file(""))) << file.path();
    EXPECT_EQ(file.wanted_path(), home.file(row.name));
    struct stat info {};
    ASSERT_EQ(stat(file.path(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
  }
}

TEST_F(RelocatedTrace, IsNotMovedWithoutNeed) {
  File& file = make("a.tide");
  EXPECT_FALSE(file.relocated());
  EXPECT_EQ(file.path(), home.file("a.tide"));
  EXPECT_EQ(files_in(memory), 0u);
}

TEST_F(RelocatedTrace, IsFoundUnderTheNameThatWasAskedFor) {
  told.type = kNfs;
  File& file = make("a.tide");
  Lane lane;
  lane.start(file, 1);
  for (std::uint64_t i = 1; i <= 100'000; ++i) lane.alloc({.address = i << 9, .size_bytes = i});
  file.close(FileState::Closed);
  Trace const trace = read_back(home.file("a.tide"));
  EXPECT_TRUE(trace.complete());
  EXPECT_EQ(all_events(trace).size(), 100'000u);
  EXPECT_EQ(files_in(home), 1u) << "nothing else is left there";
}

TEST_F(RelocatedTrace, KeepsItsName) {
  told.type = kNfs;
  make("a.tide");
  File second;
  EXPECT_FALSE(second.create({.path = home.file("a.tide"), .fallback_folder = memory.file("")}).ok());
  EXPECT_EQ(files_in(memory), 1u);
}

// Traces of one name, of several folders, meet in the other place.
TEST_F(RelocatedTrace, MakesRoomForOthersOfItsName) {
  told.type = kNfs;
  for (const char* const folder : {"one", "two", "three"}) {
    fs::create_directory(home.file(folder));
    EXPECT_TRUE(make(std::string(folder) + "/a.tide").relocated());
  }
  EXPECT_EQ(files_in(memory), 3u);
}

TEST_F(RelocatedTrace, DoesWithoutALink) {
  told.type = kNfs;
  told.links = EPERM;
  EXPECT_TRUE(make("a.tide").relocated());
  EXPECT_EQ(files_in(home), 0u);
  EXPECT_EQ(files_in(memory), 1u);
}

TEST_F(RelocatedTrace, AFullDiskIsNoReasonToMove) {
  for (int const why : {ENOSPC, EDQUOT, EFBIG}) {
    told.space = why;
    File file;
    auto const made = file.create({.path = home.file("a.tide"), .fallback_folder = memory.file("")});
    ASSERT_FALSE(made.ok());
    EXPECT_NE(made.error().what.find(home.file("a.tide")), std::string::npos) << made.error().what;
    EXPECT_FALSE(made.error().hint.empty());
    EXPECT_EQ(files_in(home), 0u);
    EXPECT_EQ(files_in(memory), 0u);
  }
}

TEST_F(RelocatedTrace, NowhereToGoIsAnErrorWithAWayOut) {
  told.type = kNfs;
  File file;
  auto const made = file.create({.path = home.file("a.tide"), .fallback_folder = memory.file("missing")});
  ASSERT_FALSE(made.ok());
  EXPECT_FALSE(made.error().hint.empty());
  EXPECT_EQ(files_in(home), 0u);
}

}  // namespace
}  // namespace tidemark::trace
