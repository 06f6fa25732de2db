// SPDX-License-Identifier: Apache-2.0
#include "softgpu/blas/openblas.h"

#include <dlfcn.h>

#include <atomic>

#include "base/env.h"
#include "base/log.h"

namespace tidemark::softgpu::blas {
namespace {

struct OpenBlas {
  void* library = nullptr;
  std::string error;
};

OpenBlas open_library() {
  OpenBlas blas{.library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL)};
  if (blas.library == nullptr) blas.error = dlerror();
  return blas;
}

// Leaked: its threads may still be computing when the process ends.
const OpenBlas& openblas() {
  static const OpenBlas& blas = *new OpenBlas(open_library());
  return blas;
}

int wanted_threads(int otherwise) {
  auto const threads = env_count("SOFTGPU_BLAS_THREADS", static_cast<std::uint64_t>(otherwise < 1 ? 1 : otherwise));
  if (threads.ok() && *threads >= 1 && *threads <= 1024) return static_cast<int>(*threads);
  say_once("threads", "softgpu cuBLAS", threads.ok() ? "SOFTGPU_BLAS_THREADS: out of range" : threads.error().what);
  return otherwise;
}

}  // namespace

void* openblas_symbol(const char* name) {
  return openblas().library == nullptr ? nullptr : dlsym(openblas().library, name);
}

namespace {
std::atomic<int> g_threads{1};
}

int openblas_threads() {
  return g_threads.load(std::memory_order_relaxed);
}

void set_openblas_threads(int threads) {
  g_threads.store(threads, std::memory_order_relaxed);
  auto* const set = reinterpret_cast<decltype(&openblas_set_num_threads)>(openblas_symbol("openblas_set_num_threads"));
  if (set != nullptr) set(threads);
}

bool open_openblas(int threads) {
  static bool const opened = [threads] {
    if (openblas_symbol("cblas_sgemm") == nullptr) return false;
    set_openblas_threads(wanted_threads(threads));
    return true;
  }();
  return opened;
}

std::string openblas_error() {
  return openblas().library == nullptr ? openblas().error : "libopenblas.so.0 has no CBLAS functions";
}

}  // namespace tidemark::softgpu::blas
