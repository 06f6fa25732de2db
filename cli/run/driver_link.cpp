// SPDX-License-Identifier: Apache-2.0
#include "cli/run/driver_link.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

namespace tidemark::cli {
namespace {

namespace fs = std::filesystem;
constexpr const char* kName = "libtidemark-driver.so.1";

// As a program would find it: it is opened, but nothing in it is called.
Result<std::string> system_driver() {
  void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  link_map* map = nullptr;
  if (library == nullptr || dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0)
    return Error{Errc::NotFound, "there is no CUDA driver (libcuda.so.1) here",
                 "without a card: --device soft:a100-80g"};
  std::error_code failure;
  return fs::absolute(map->l_name, failure).string();
}

std::string from_environment(const char* name) {
  const char* const value = getenv(name);
  return value != nullptr && value[0] == '/' ? value : "";
}

// One folder for each driver, the same for all runs.
fs::path cache_folder(const std::string& driver) {
  fs::path cache = from_environment("XDG_CACHE_HOME");
  if (cache.empty())
    cache = from_environment("HOME").empty() ? fs::path() : fs::path(from_environment("HOME")) / ".cache";
  if (cache.empty()) return {};
  return cache / "tidemark" / ("driver-" + std::to_string(std::hash<std::string>{}(driver)));
}

bool points_to(const fs::path& link, const std::string& driver) {
  std::error_code failure;
  return fs::read_symlink(link, failure) == driver;
}

// Whole or not at all, also when two runs begin at once.
bool put_link(const fs::path& folder, const std::string& driver) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (points_to(folder / kName, driver)) return true;
  fs::path const fresh = folder / (std::string(kName) + "." + std::to_string(getpid()));
  fs::create_symlink(driver, fresh, failure);
  if (!failure) fs::rename(fresh, folder / kName, failure);
  return points_to(folder / kName, driver);
}

}  // namespace

Result<std::string> link_driver(const std::string& driver) {
  std::string target = driver;
  if (target.empty()) {
    TIDEMARK_TRY(target, system_driver());
  }
  if (fs::path const cache = cache_folder(target); !cache.empty() && put_link(cache, target)) return cache.string();
  std::string folder = (fs::temp_directory_path() / "tidemark-driver-XXXXXX").string();
  if (mkdtemp(folder.data()) != nullptr && put_link(folder, target)) return folder;
  return Error{Errc::Io, "there is no folder for a link to the driver",
               "set XDG_CACHE_HOME to one that can be written"};
}

}  // namespace tidemark::cli
