// SPDX-License-Identifier: Apache-2.0
// Asks the dynamic linker questions that have nothing to do with CUDA, or whose answer is no.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <initializer_list>

extern "C" __attribute__((visibility("default"))) int curl_easy_init() {
  return 5;
}

namespace {

const char* presence(const char* name) {
  return dlsym(RTLD_DEFAULT, name) == nullptr ? "absent" : "present";
}

}  // namespace

int main() {
  for (const char* const name : {"printf", "curl_easy_init", "cuInit", "cuMemAlloc_v2", "cuGetProcAddress_v2",
                                 "cudaMalloc", "cublasCreate_v2", "c", "cu", "", "tidemark_no_such_name"})
    std::printf("%s: %s\n", name, presence(name));
  std::printf("ours: %d\n", dlsym(RTLD_DEFAULT, "curl_easy_init") == reinterpret_cast<void*>(&curl_easy_init));
  (void)dlerror();
  std::printf("no name: %d, message: %d\n", dlsym(RTLD_DEFAULT, "no_such_name") == nullptr, dlerror() != nullptr);
  void* const self = dlopen(nullptr, RTLD_NOW);
  std::printf("in the program: %d\n", dlsym(self, "curl_easy_init") == reinterpret_cast<void*>(&curl_easy_init));
  std::printf("driver: %d, runtime: %d\n", dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) != nullptr,
              dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD) != nullptr);
  return 22;
}
