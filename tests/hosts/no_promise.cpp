// SPDX-License-Identifier: Apache-2.0
// Preloaded: the files below the folder in NO_PROMISE_IN seem to be on NFS, which does not promise space.
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" __attribute__((visibility("default"))) int fstatfs(int file, struct statfs* info) noexcept {
  auto const result = static_cast<int>(syscall(SYS_fstatfs, file, info));
  char link[64], path[4096] = {};
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const char* const folder = std::getenv("NO_PROMISE_IN");
  if (result == 0 && folder != nullptr && readlink(link, path, sizeof path - 1) > 0 &&
      std::strncmp(path, folder, std::strlen(folder)) == 0)
    info->f_type = 0x6969;
  return result;
}
