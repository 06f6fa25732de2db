// SPDX-License-Identifier: Apache-2.0
// Opens a library that brings CUDA along: plainly, or bound to its own libraries before everybody else's
// (RTLD_DEEPBIND), where neither exported names nor dlsym of a preloaded library reach it.
#include <dlfcn.h>

#include <cstdio>
#include <string_view>

int main(int, char** argv) {
  std::string_view const how = argv[2];
  int const flags = RTLD_NOW | RTLD_LOCAL | (how == "deepbind" ? RTLD_DEEPBIND : 0);
  void* const plugin = dlopen(argv[1], flags);
  if (plugin == nullptr) return std::printf("%s\n", dlerror());
  auto const work = reinterpret_cast<int (*)()>(dlsym(plugin, "plugin_work"));
  std::printf("plugin gave %d\n", work());
  dlclose(plugin);
  return 0;
}
