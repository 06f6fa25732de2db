// SPDX-License-Identifier: Apache-2.0
// Closes files that whoever is inside may count on, and opens its own in their places: its standard streams before the
// first CUDA call, or everything after it. Its own files hold what it wrote, and nothing else.
#include <string>
#include <string_view>

#include "tests/hosts/host.h"

namespace {

// The data goes through the lowest free numbers.
void open_own(const char* name, int expected) {
  int const file = open(name, O_CREAT | O_TRUNC | O_RDWR, 0600);
  if (file != expected) _exit(31);
}

void write_own(int file) {
  if (write(file, "0123456789", 10) != 10) _exit(32);
}

// More than one chunk, so that the trace has to grow.
void much_work() {
  for (int i = 0; i < 40'000; ++i) {
    void* block = nullptr;
    if (cudaMalloc(&block, 4096) != cudaSuccess || cudaFree(block) != cudaSuccess) _exit(33);
    host::account.add(4096);
    host::account.remove(4096);
  }
}

}  // namespace

int main(int, char** argv) {
  std::string_view const which = argv[1];
  if (which == "stdout") {
    close(1);
    host::work();
    // What is closed stays closed.
    errno = 0;
    bool const refused = write(1, "x", 1) < 0 && errno == EBADF;
    host::account.write();
    return refused ? 16 : 17;
  }
  if (which == "stderr") {
    host::work();
    close(2);
    open_own("data2", 2);
    write_own(2);
    much_work();
    write_own(2);
    host::account.write();
    return 18;
  }
  if (which == "standard") {
    for (int const file : {0, 1, 2}) close(file);
    open_own("data0", 0);
    host::work();
    open_own("data1", 1);
    open_own("data2", 2);
    for (int const file : {0, 1, 2}) write_own(file);
    much_work();
    for (int const file : {0, 1, 2}) write_own(file);
    host::account.write();
    return 19;
  }
  // Everything, after the beginning.
  host::work();
  for (int file = 3; file < 1024; ++file) close(file);
  for (int file = 3; file < 40; ++file) open_own(("data" + std::to_string(file)).c_str(), file);
  for (int file = 3; file < 40; ++file) write_own(file);
  much_work();
  for (int file = 3; file < 40; ++file) write_own(file);
  host::account.write();
  std::puts("done");
  return 21;
}
