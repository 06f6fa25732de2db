// SPDX-License-Identifier: Apache-2.0
// A file that stays ours in a program that closes and opens numbers as it likes: daemons close everything, and what the
// program opens next gets our number. So what stands under it is looked at before each use; where that is no longer our
// file, it is opened again by its name. The number is a high one: programs count on the low ones, above all on 0 to 2.
//
// One thread at a time. Nothing here allocates from the heap. Never closed by itself: see File.
#pragma once
#include <sys/types.h>

namespace tidemark::trace {

class KeptFile {
 public:
  constexpr KeptFile() = default;

  // Makes a file that did not exist, mode 0600. False, and errno says why, when it cannot be.
  bool create(const char* path);
  // The file's number, for use at once; -1 when the program has closed it and its name is gone too.
  int number();
  // Closes the file and takes its name away.
  void discard();
  // Closes the file; its name becomes that of a link. Where there cannot be one, as discard.
  void become_link(const char* target);

 private:
  bool is_ours(int file) const;
  bool remember(const char* path);

  int file_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  char path_[4096] = {};  // absolute: the program may change its folder
};

}  // namespace tidemark::trace
