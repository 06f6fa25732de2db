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

// Between the words of LD_PRELOAD and of LD_LIBRARY_PATH, neither of which knows a way to write such a name.
bool is_one_word(const std::string& path) {
  return path.find_first_of(" :;") == path.npos;
}

// One folder for each target, the same for all runs.
fs::path cache_folder(const char* kind, const std::string& target) {
  fs::path cache = from_environment("XDG_CACHE_HOME");
  if (cache.empty())
    cache = from_environment("HOME").empty() ? fs::path() : fs::path(from_environment("HOME")) / ".cache";
  if (cache.empty() || !is_one_word(cache)) return {};
  return cache / "tidemark" / (kind + std::to_string(std::hash<std::string>{}(target)));
}

// A folder of this run alone.
fs::path fresh_folder() {
  std::error_code failure;
  fs::path const usual = fs::temp_directory_path(failure);
  std::string folder = (failure || !is_one_word(usual) ? fs::path("/tmp") : usual) / "tidemark-link-XXXXXX";
  return mkdtemp(folder.data()) != nullptr ? fs::path(folder) : fs::path();
}

bool points_to(const fs::path& link, const std::string& target) {
  std::error_code failure;
  return fs::read_symlink(link, failure) == target;
}

// Whole or not at all, also when two runs begin at once.
bool put_link(const fs::path& link, const std::string& target) {
  std::error_code failure;
  fs::create_directories(link.parent_path(), failure);
  if (points_to(link, target)) return true;
  fs::path const fresh = link.string() + "." + std::to_string(getpid());
  fs::create_symlink(target, fresh, failure);
  if (!failure) fs::rename(fresh, link, failure);
  return points_to(link, target);
}

// The folder of a link of that name.
Result<std::string> linked(const char* kind, const char* name, const std::string& target) {
  if (fs::path const cache = cache_folder(kind, target); !cache.empty() && put_link(cache / name, target))
    return cache.string();
  if (fs::path const folder = fresh_folder(); !folder.empty() && put_link(folder / name, target))
    return folder.string();
  return Error{Errc::Io, "there is no folder for a link to " + target,
               "set XDG_CACHE_HOME to one that can be written, without spaces and colons in its name"};
}

}  // namespace

Result<std::string> link_driver(const std::string& driver) {
  std::string target = driver;
  if (target.empty()) {
    TIDEMARK_TRY(target, system_driver());
  }
  return linked("driver-", kName, target);
}

Result<std::string> one_word(const std::string& folder) {
  if (is_one_word(folder)) return folder;
  TIDEMARK_TRY(std::string const place, linked("folder-", "there", folder));
  return place + "/there";
}

}  // namespace tidemark::cli
