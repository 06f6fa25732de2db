// SPDX-License-Identifier: Apache-2.0
// Runs short of something before its first CUDA call, or later: of file size, of file numbers, of address space, of
// keys, of stack.
#include <limits.h>
#include <pthread.h>
#include <sys/resource.h>

#include <string_view>

#include "tests/hosts/host.h"

namespace {

void set_limit(__rlimit_resource what, rlim_t value) {
  rlimit limit{};
  getrlimit(what, &limit);
  limit.rlim_cur = value;
  REQUIRE(setrlimit(what, &limit) == 0);
}

void much_work(int pairs) {
  for (int i = 0; i < pairs; ++i) host::account.free(host::account.allocate(4096), 4096);
}

void* first_call(void*) {
  host::work();
  return nullptr;
}

void on_small_stack() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  // What the C library itself and the thread-local variables of all libraries take is not the thread's to use.
  REQUIRE(pthread_attr_setstacksize(&attributes, static_cast<std::size_t>(PTHREAD_STACK_MIN) + 16 * 1024) == 0);
  pthread_t thread;
  REQUIRE(pthread_create(&thread, &attributes, first_call, nullptr) == 0);
  pthread_join(thread, nullptr);
}

}  // namespace

int main(int, char** argv) {
  std::string_view const what = argv[1];
  if (what == "file_size") {
    set_limit(RLIMIT_FSIZE, 100'000);
    host::work();
  } else if (what == "file_size_later") {
    set_limit(RLIMIT_FSIZE, 2 << 20);
    much_work(150'000);
  } else if (what == "file_size_lowered") {
    host::work();
    set_limit(RLIMIT_FSIZE, 4096);
    much_work(60'000);
  } else if (what == "files") {
    set_limit(RLIMIT_NOFILE, 64);
    host::account.write();
    while (open("/dev/null", O_RDONLY) >= 0) {
    }
    much_work(1000);
    std::puts("done");
    return 0;
  } else if (what == "keys") {
    pthread_key_t key;
    host::work(1);  // the driver's own first
    while (pthread_key_create(&key, nullptr) == 0) {
    }
    much_work(1000);
  } else if (what == "keys_first") {
    pthread_key_t key;
    while (pthread_key_create(&key, nullptr) == 0) {
    }
    much_work(1000);
  } else if (what == "stack") {
    on_small_stack();
  }
  std::puts("done");
  host::account.write();
  return 0;
}
