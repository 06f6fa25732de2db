// SPDX-License-Identifier: Apache-2.0
#include "trace/write/kept_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <initializer_list>

namespace tidemark::trace {
namespace {

// The first number may be beyond the process's limit.
int out_of_the_way(int file) {
  for (int const lowest : {900, 200, 3}) {
    int const moved = fcntl(file, F_DUPFD_CLOEXEC, lowest);
    if (moved < 0) continue;
    close(file);
    return moved;
  }
  if (file > STDERR_FILENO) return file;
  close(file);  // what the program writes to its standard streams must not come here
  errno = EMFILE;
  return -1;
}

}  // namespace

bool KeptFile::remember(const char* path) {
  std::size_t length = 0;
  if (path[0] != '/') {
    if (getcwd(path_, sizeof path_) == nullptr) return false;
    length = strlen(path_);
    path_[length++] = '/';
  }
  if (length + strlen(path) >= sizeof path_) {
    errno = ENAMETOOLONG;
    return false;
  }
  strcpy(path_ + length, path);
  return true;
}

bool KeptFile::create(const char* path) {
  if (!remember(path)) return false;
  int const file = open(path_, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) return false;
  file_ = out_of_the_way(file);
  struct stat info {};
  if (file_ < 0 || fstat(file_, &info) != 0) {
    int const why = errno;
    unlink(path_);
    errno = why;
    return false;
  }
  device_ = info.st_dev;
  inode_ = info.st_ino;
  return true;
}

bool KeptFile::is_ours(int file) const {
  struct stat info {};
  return file >= 0 && fstat(file, &info) == 0 && info.st_dev == device_ && info.st_ino == inode_;
}

int KeptFile::number() {
  if (is_ours(file_)) return file_;
  // The number is somebody else's now, or nobody's: it is not closed.
  file_ = -1;
  int const again = open(path_, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (again < 0) return -1;
  if (is_ours(again)) {
    file_ = out_of_the_way(again);
  } else {
    close(again);
  }
  return file_;
}

void KeptFile::discard() {
  int const file = number();
  if (file < 0) return;
  close(file);
  unlink(path_);
  file_ = -1;
}

// The name is never free in between: another process could take it.
void KeptFile::become_link(const char* target) {
  char link[sizeof path_ + 8];
  snprintf(link, sizeof link, "%s.link", path_);
  unlink(link);
  if (symlink(target, link) != 0 || rename(link, path_) != 0) {
    unlink(link);
    unlink(path_);
  }
  close(file_);
  file_ = -1;
}

}  // namespace tidemark::trace
