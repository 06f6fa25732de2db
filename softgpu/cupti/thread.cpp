// SPDX-License-Identifier: Apache-2.0
#include "softgpu/cupti/thread.h"

#include <pthread.h>

#include <atomic>

namespace tidemark::softgpu::cupti {
namespace {

constinit thread_local Thread* t_thread = nullptr;
constinit thread_local CUptiResult t_last_error = CUPTI_SUCCESS;
constinit std::atomic<bool> forked{false};

// A key's destructor runs after the thread-local objects' own, and again if one of those made a new state.
pthread_key_t make_key() {
  pthread_key_t key{};
  pthread_key_create(&key, [](void* thread) {
    t_thread = nullptr;
    delete static_cast<Thread*>(thread);
  });
  pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
  return key;
}

}  // namespace

Thread& thread_state() {
  if (t_thread == nullptr) {
    static pthread_key_t const key = make_key();
    t_thread = new Thread;
    pthread_setspecific(key, t_thread);
  }
  return *t_thread;
}

CUptiResult answer(CUptiResult result) {
  if (result != CUPTI_SUCCESS) t_last_error = result;
  return result;
}

bool is_forked() {
  return forked.load(std::memory_order_relaxed);
}

}  // namespace tidemark::softgpu::cupti

CUptiResult CUPTIAPI cuptiGetLastError(void) {
  using namespace tidemark::softgpu::cupti;
  CUptiResult const error = t_last_error;
  t_last_error = CUPTI_SUCCESS;
  return error;
}
