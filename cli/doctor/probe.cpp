// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/probe.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <cstdio>

namespace tidemark::cli {
namespace {

void say(const std::string& key, const std::string& value) {
  std::printf("%s=%s\n", key.c_str(), value.c_str());
  std::fflush(stdout);  // what was said before a crash counts
}

class Library {
 public:
  explicit Library(const char* name) : handle_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) why_ = dlerror();
  }
  bool here() const { return handle_ != nullptr; }
  const std::string& why() const { return why_; }
  std::string path() const {
    link_map* map = nullptr;
    return handle_ != nullptr && dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "";
  }
  // The function's result, or -1 when the library does not have it.
  template <class... A>
  int call(const char* name, A... arguments) const {
    auto const function = handle_ == nullptr ? nullptr : reinterpret_cast<int (*)(A...)>(dlsym(handle_, name));
    return function == nullptr ? -1 : function(arguments...);
  }

 private:
  void* handle_;
  std::string why_;
};

void look_at_device(const Library& driver, int number) {
  std::string const key = "device." + std::to_string(number) + ".";
  int device = 0;
  char name[256] = {};
  std::size_t bytes = 0;
  driver.call("cuDeviceGet", &device, number);
  driver.call("cuDeviceGetName", static_cast<char*>(name), static_cast<int>(sizeof name - 1), device);
  driver.call("cuDeviceTotalMem_v2", &bytes, device);
  say(key + "name", name);
  say(key + "total_bytes", std::to_string(bytes));
  // A block, so that a recorder that is preloaded has something to record.
  void* context = nullptr;
  std::uint64_t block = 0;
  int result = driver.call("cuDevicePrimaryCtxRetain", &context, device);
  if (result == 0) result = driver.call("cuCtxSetCurrent", context);
  if (result == 0) result = driver.call("cuMemAlloc_v2", &block, std::size_t{1} << 20);
  if (result == 0) result = driver.call("cuMemFree_v2", block);
  say(key + "allocate", std::to_string(result));
}

void look_at_driver() {
  Library const driver("libcuda.so.1");
  say("driver.path", driver.path());
  if (!driver.here()) {
    say("driver.why", driver.why());
    return;
  }
  int version = 0, count = 0;
  driver.call("cuDriverGetVersion", &version);
  say("driver.version", std::to_string(version));
  int const result = driver.call("cuInit", 0U);
  say("driver.init", std::to_string(result));
  if (result != 0) return;
  driver.call("cuDeviceGetCount", &count);
  say("driver.devices", std::to_string(count));
  for (int i = 0; i < count; ++i) look_at_device(driver, i);
}

void look_for(const char* key, const char* name) {
  Library const library(name);
  say(std::string(key) + ".path", library.path());
  if (!library.here()) say(std::string(key) + ".why", library.why());
}

void look_at_nvml() {
  Library const library("libnvidia-ml.so.1");
  say("nvml.path", library.path());
  if (library.here()) say("nvml.init", std::to_string(library.call("nvmlInit_v2")));
}

}  // namespace

int probe() {
  look_for("runtime13", "libcudart.so.13");
  look_for("runtime12", "libcudart.so.12");
  look_for("cupti13", "libcupti.so.13");
  look_for("cupti12", "libcupti.so.12");
  look_at_nvml();
  look_at_driver();
  return 0;
}

Findings parse_findings(const std::string& text) {
  Findings findings;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t const end = std::min(text.find('\n', begin), text.size());
    std::string const line = text.substr(begin, end - begin);
    if (std::size_t const equals = line.find('='); equals != std::string::npos)
      findings[line.substr(0, equals)] = line.substr(equals + 1);
    begin = end + 1;
  }
  return findings;
}

}  // namespace tidemark::cli
