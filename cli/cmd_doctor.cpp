// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/bytes.h"
#include "base/version.h"
#include "cli/arguments.h"
#include "cli/doctor/probe.h"
#include "cli/output.h"
#include "cli/run/child.h"
#include "cli/run/plan.h"
#include "softgpu/profiles/profiles.h"
#include "trace/read/trace.h"

namespace tidemark::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExamples =
    "  tidemark doctor            what is here, and why something is off\n"
    "  tidemark doctor --probe    the same as key=value, from inside one process";

class Page {
 public:
  explicit Page(bool colour) : colour_(colour) {}
  void good(std::string_view what, std::string_view text) { row("ok", 32, what, text); }
  void off(std::string_view what, std::string_view text) { row("--", 33, what, text); }
  void bad(std::string_view what, std::string_view text) {
    row("!!", 31, what, text);
    ++problems_;
  }
  const std::string& text() const { return text_; }
  int problems() const { return problems_; }

 private:
  void row(std::string_view mark, int colour, std::string_view what, std::string_view text) {
    std::string const shown = colour_ ? fmt::format("\x1b[{}m{}\x1b[0m", colour, mark) : std::string(mark);
    text_ += fmt::format("  {} {:<16} {}\n", shown, what, text);
  }
  bool colour_;
  std::string text_;
  int problems_ = 0;
};

struct Probed {
  Findings findings;
  int status = 0;
};

// This program once more, in the given environment, its stdout in a file.
Probed run_probe(Environment environment) {
  char path[] = "/tmp/tidemark-doctor-XXXXXX";
  int const file = mkostemp(path, O_CLOEXEC);
  if (file < 0) return {.status = -1};
  int const saved = dup(STDOUT_FILENO), quiet = open("/dev/null", O_WRONLY | O_CLOEXEC), errors = dup(STDERR_FILENO);
  dup2(file, STDOUT_FILENO);
  dup2(quiet, STDERR_FILENO);
  auto const ended = run_child("/proc/self/exe", {"tidemark", "doctor", "--probe"}, environment);
  dup2(saved, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  for (int const open_file : {saved, quiet, errors}) close(open_file);
  std::string text(1 << 16, '\0');
  ssize_t const n = pread(file, text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  close(file);
  unlink(path);
  return {.findings = parse_findings(text), .status = ended.ok() ? ended->status : -1};
}

Environment inherited() {
  Environment all;
  for (char** at = environ; *at != nullptr; ++at) all.emplace_back(*at);
  return all;
}

std::string get(const Findings& f, const std::string& key) {
  auto const found = f.find(key);
  return found == f.end() ? "" : found->second;
}

std::string version_text(const std::string& number) {
  int const v = number.empty() ? 0 : std::stoi(number);
  return fmt::format("{}.{}", v / 1000, v % 1000 / 10);
}

void library_row(Page& page, const Findings& f, const char* key, const char* what, const char* name, const char* why) {
  std::string const path = get(f, std::string(key) + ".path");
  if (!path.empty())
    page.good(what, path);
  else
    page.off(what, fmt::format("{} is not here: {}", name, why));
}

void device_rows(Page& page, const Probed& probed) {
  Findings const& f = probed.findings;
  if (get(f, "driver.path").empty()) {
    page.off("driver", "libcuda.so.1 is not here: no GPU driver; the software device works without one");
    return;
  }
  if (get(f, "driver.init") != "0") {
    page.bad("driver", fmt::format("{}: cuInit answers {}", get(f, "driver.path"), get(f, "driver.init")));
    return;
  }
  page.good("driver", fmt::format("CUDA {}, {}", version_text(get(f, "driver.version")), get(f, "driver.path")));
  for (int i = 0; f.contains(fmt::format("device.{}.name", i)); ++i) {
    std::string const key = fmt::format("device.{}.", i);
    std::string const bytes = get(f, key + "total_bytes");
    std::string const text =
        fmt::format("{}, {}", get(f, key + "name"), format_bytes({bytes.empty() ? 0 : std::stoull(bytes)}));
    if (get(f, key + "allocate") == "0")
      page.good(fmt::format("device {}", i), text);
    else
      page.bad(fmt::format("device {}", i),
               fmt::format("{}: an allocation answers {}", text, get(f, key + "allocate")));
  }
  if (WIFSIGNALED(probed.status))
    page.bad("driver", fmt::format("the probe died by signal {}", WTERMSIG(probed.status)));
}

void machine_rows(Page& page) {
  Probed const native = run_probe(inherited());
  device_rows(page, native);
  Findings const& f = native.findings;
  library_row(page, f, "runtime13", "runtime 13", "libcudart.so.13", "programs may bring their own");
  library_row(page, f, "runtime12", "runtime 12", "libcudart.so.12", "programs may bring their own");
  if (get(f, "nvml.init") == "0")
    page.good("NVML", get(f, "nvml.path"));
  else
    page.off("NVML", get(f, "nvml.path").empty() ? "libnvidia-ml.so.1 is not here: no figures of other processes"
                                                 : "nvmlInit answers " + get(f, "nvml.init"));
  std::string const cupti = get(f, "cupti13.path").empty() ? get(f, "cupti12.path") : get(f, "cupti13.path");
  if (cupti.empty())
    page.off("CUPTI", "libcupti is not on the library path: no audit, no kernels in the trace");
  else
    page.good("CUPTI", cupti + ": used with TIDEMARK_CUPTI=1");
}

// Asked for, unless the user has a wish of his own.
Environment with_cupti(Environment environment) {
  for (std::string const& word : environment)
    if (word.rfind("TIDEMARK_CUPTI=", 0) == 0) return environment;
  environment.emplace_back("TIDEMARK_CUPTI=1");
  return environment;
}

std::string cupti_text(const trace::Trace& trace) {
  std::string const& use = trace.names().fact("cupti");
  if (use != "on") return "CUPTI " + use;
  return fmt::format("CUPTI on, its audit {}", trace.names().fact("cupti.audit"));
}

// The whole way once: the probe under the recorder, its trace read back.
void recording_row(Page& page, const char* what, Plan plan, const Libraries& libraries) {
  fs::path const trace = fs::temp_directory_path() / fmt::format("tidemark-doctor-{}.tide", getpid());
  plan.out = trace.string();
  Probed const probed = run_probe(with_cupti(environment_for(plan, libraries, inherited(), false)));
  auto const opened = trace::Trace::open(plan.out);
  std::error_code failure;
  if (opened.ok() && opened->header().totals.allocations > 0)
    page.good(what, fmt::format("{}: recorded; {}", get(probed.findings, "device.0.name"), cupti_text(*opened)));
  else if (get(probed.findings, "driver.devices").empty())
    page.off(what, "no device to record on");
  else
    page.bad(what, "a program under the recorder left no trace: " + (opened.ok() ? "empty" : opened.error().what));
  fs::remove(trace, failure);
}

void folder_row(Page& page) {
  std::error_code failure;
  fs::path const folder = fs::current_path(failure);
  if (access(folder.c_str(), W_OK) != 0) {
    page.bad("folder", folder.string() + " cannot be written: choose another with -o");
    return;
  }
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  auto const space = fs::space(folder, failure);
  page.good("folder", fmt::format("{}: {} free{}", folder.string(), format_bytes({space.available}),
                                  limit.rlim_cur == RLIM_INFINITY
                                      ? ""
                                      : ", files up to " + format_bytes({limit.rlim_cur}) + " (ulimit -f)"));
}

}  // namespace

Result<int> cmd_doctor(Words words) {
  bool only_probe = false;
  Arguments arguments("doctor", "Says what is here to record with, and why something is off.", kExamples);
  arguments.flag(only_probe, "--probe", "look in this process and print what was found, for programs");
  TIDEMARK_TRY(bool const go, arguments.parse(words));
  if (!go) return kOk;
  if (only_probe) return probe();

  Page page(screen().colour);
  auto const libraries = find_libraries();
  if (libraries.ok())
    page.good("tidemark", fmt::format("{}, {}", version(), libraries->preload));
  else
    page.bad("tidemark", libraries.error().what + "; " + libraries.error().hint);
  machine_rows(page);
  if (libraries.ok()) recording_row(page, "recording", {}, *libraries);
  if (libraries.ok() && !libraries->softgpu.empty())
    recording_row(page, "software device", {.profile = std::string(softgpu::kDefaultProfile)}, *libraries);
  else
    page.off("software device", "not built: cmake --build --preset release --target demo");
  folder_row(page);
  if (auto printed = print(page.text()); !printed.ok()) return printed.error();
  return page.problems() == 0 ? kOk : kFailed;
}

}  // namespace tidemark::cli
