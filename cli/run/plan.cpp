// SPDX-License-Identifier: Apache-2.0
#include "cli/run/plan.h"

#include <algorithm>
#include <filesystem>

#include "cli/run/driver_link.h"

namespace tidemark::cli {
namespace {

namespace fs = std::filesystem;

class Variables {
 public:
  explicit Variables(Environment inherited) : all_(std::move(inherited)) {}

  std::string get(std::string_view name) const {
    auto const found = std::find_if(all_.begin(), all_.end(), [&](const std::string& v) { return is(v, name); });
    return found == all_.end() ? std::string() : found->substr(name.size() + 1);
  }
  void set(std::string_view name, std::string_view value) {
    std::erase_if(all_, [&](const std::string& v) { return is(v, name); });
    all_.push_back(std::string(name) + "=" + std::string(value));
  }
  void set_if(std::string_view name, std::string_view value) {
    if (!value.empty()) set(name, value);
  }
  // In front of what is there already.
  void prepend(std::string_view name, std::string_view value) {
    std::string const before = get(name);
    set(name, before.empty() ? std::string(value) : std::string(value) + ":" + before);
  }
  // Behind what is there already.
  void append(std::string_view name, std::string_view value) {
    std::string const before = get(name);
    set(name, before.empty() ? std::string(value) : before + ":" + std::string(value));
  }
  Environment take() { return std::move(all_); }

 private:
  static bool is(const std::string& variable, std::string_view name) {
    return variable.size() > name.size() && variable.starts_with(name) && variable[name.size()] == '=';
  }
  Environment all_;
};

void choose_device(Variables& v, const Plan& plan, const Libraries& libraries, bool preload_device) {
  if (plan.profile.empty()) return;
  v.prepend("LD_LIBRARY_PATH", libraries.softgpu);
  v.set("SOFTGPU_PROFILE", plan.profile);
  v.set_if("SOFTGPU_MEMORY", plan.memory);
  if (plan.dry_run) v.set("SOFTGPU_DRY_RUN", *plan.dry_run ? "1" : "0");
  if (!preload_device) return;
  for (const char* const library : {"libcublas.so.13", "libcublasLt.so.13", "libcudart.so.13"})
    v.append("LD_PRELOAD", libraries.softgpu + "/" + library);
}

// NVTX loads one library: ours, which then loads the one that was to be loaded.
void inject_nvtx(Variables& v, const std::string& library) {
  constexpr std::string_view kName = "NVTX_INJECTION64_PATH";
  if (std::string const before = v.get(kName); !before.empty() && before != library)
    v.set("TIDEMARK_NVTX_CHAIN", before);
  v.set(kName, library);
}

}  // namespace

Result<Libraries> find_libraries() {
  std::error_code failure;
  fs::path const self = fs::read_symlink("/proc/self/exe", failure);
  fs::path const prefix = self.parent_path().parent_path();
  TIDEMARK_TRY(fs::path const lib, one_word(prefix / "lib"));
  Libraries found;
  for (fs::path const& folder : {lib, lib / "tidemark"}) {
    if (found.preload.empty() && fs::exists(folder / "libtidemark.so", failure))
      found.preload = folder / "libtidemark.so";
    if (found.soname.empty() && fs::exists(folder / "soname" / "libcuda.so.1", failure))
      found.soname = folder / "soname";
    if (found.softgpu.empty() && fs::exists(folder / "softgpu" / "libcuda.so.1", failure))
      found.softgpu = folder / "softgpu";
  }
  if (found.preload.empty())
    return Error{Errc::NotFound, "libtidemark.so is not in " + (prefix / "lib").string(),
                 "build it: cmake --build --preset release --target tidemark_preload"};
  return found;
}

Environment environment_for(const Plan& plan, const Libraries& libraries, Environment inherited, bool preload_device) {
  Variables v(std::move(inherited));
  bool const second_door = !plan.driver_folder.empty();
  std::string const library = second_door ? libraries.soname + "/libcuda.so.1" : libraries.preload;
  // Behind the user's own: a tool that wraps CUDA's functions calls the next one, which is ours; we call CUDA itself.
  v.append("LD_PRELOAD", library);
  if (second_door) v.append("LD_PRELOAD", libraries.soname + "/libcuda.so");
  choose_device(v, plan, libraries, preload_device);
  if (second_door) v.prepend("LD_LIBRARY_PATH", plan.driver_folder);
  v.set_if("TIDEMARK_OUT", plan.out);
  v.set_if("TIDEMARK_MODE", plan.mode);
  v.set_if("TIDEMARK_FREE", plan.free);
  v.set_if("TIDEMARK_LIMIT", plan.limit);
  v.set_if("TIDEMARK_RING", plan.ring);
  v.set_if("TIDEMARK_ROUND", plan.cache.round);
  v.set_if("TIDEMARK_CACHE_CAP", plan.cache.cache_cap);
  v.set_if("TIDEMARK_TRIM_AFTER", plan.cache.trim_after);
  if (plan.cache.poison) v.set("TIDEMARK_POISON", "1");
  if (plan.cache.check_frees) v.set("TIDEMARK_CHECK_FREES", "1");
  if (plan.cache.whole_blocks) v.set("TIDEMARK_WHOLE_BLOCKS", "1");
  if (plan.stacks) v.set("TIDEMARK_STACKS", "1");
  v.set("TIDEMARK_SUMMARY", "0");
  v.set_if("TIDEMARK_RUN", plan.run);
  v.set_if("TIDEMARK_RUN_LIST", plan.list);
  inject_nvtx(v, library);
  return v.take();
}

}  // namespace tidemark::cli
