// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>

#include "analysis/report/words.h"
#include "base/bytes.h"
#include "cli/arguments.h"
#include "cli/output.h"
#include "cli/run/cache_flags.h"
#include "cli/run/child.h"
#include "cli/run/closing.h"
#include "cli/run/driver_link.h"
#include "cli/run/plan.h"
#include "cli/run/program.h"
#include "cli/run/traces.h"
#include "softgpu/profiles/profiles.h"
#include "trace/format/layout.h"

namespace tidemark::cli {
namespace {

namespace fs = std::filesystem;

// The program's own codes are passed on; these are ours, as env and nohup have them.
constexpr int kOwnFailure = 125, kNotExecutable = 126, kNotFound = 127;

constexpr const char* kExamples =
    "  tidemark run -- ./train --batch 64                       record a run\n"
    "  tidemark run -o run.tide -- ./train                      into a file of this name\n"
    "  tidemark run --device soft:a100-80g -- ./train           without a GPU: will it fit?\n"
    "  tidemark run --device soft:rtx3060-12g --memory 11GiB --dry-run -- ./train\n"
    "  tidemark run --limit 8GiB -- ./train                     as if the card had 8 GiB\n"
    "  tidemark run -o 'rank-%r.tide' -- mpirun -n 4 ./train    a trace for each process";

struct Options {
  std::string out, device = "native", memory, mode = "auto", free = "auto", limit, ring, door = "auto";
  CacheFlags cache;
  bool dry_run = false, execute = false, stacks = false, force = false;
};

void declare(Arguments& a, Options& o) {
  a.option(o.out, {"-o,--output", "F.tide", "the trace (default: tidemark-%p.tide); %p process, %r rank"});
  a.flag(o.force, "--force", "write over F.tide if it is there");
  a.option(o.device, {"--device", "D", "native (default), or soft:PROFILE: a software device (tidemark devices)"});
  a.option(o.memory, {"--memory", "SIZE", "of the software device, instead of its card's"});
  a.flag(o.dry_run, "--dry-run", "software device: skip all kernels");
  a.flag(o.execute, "--execute", "software device: run kernels on the CPU, or fail");
  a.option(o.mode,
           {"--mode",
            "MODE",
            "observe: memory is the driver's; cache: it is served by tidemark's allocator; auto (default): observe",
            {"auto", "cache", "observe"}});
  a.option(o.free,
           {"--free",
            "WHEN",
            "whether a served free waits for the device as cudaFree does: strict, lazy, or auto (default), while "
            "the host could see the difference",
            {"auto", "strict", "lazy"}});
  declare(a, o.cache);
  a.option(o.limit, {"--limit", "SIZE", "make the card look like one of this size"});
  a.flag(o.stacks, "--stacks", "record native call stacks");
  a.option(o.ring, {"--ring", "SIZE", "keep the trace at this size: older events become sums"});
  a.option(o.door,
           {"--door", "DOOR", "auto (default), or soname: for libraries bound with RTLD_DEEPBIND", {"auto", "soname"}});
}

Error usage(const std::string& what, const std::string& hint) {
  return {Errc::InvalidArgument, what, hint};
}

Result<void> check_size(const char* option, const std::string& text) {
  if (text.empty()) return {};
  auto const size = parse_bytes(text);
  if (size.ok() && size->n > 0) return {};
  return usage(std::string(option) + ": not a size: '" + text + "'", "write it as 512MiB, 8GiB or plain bytes");
}

Result<std::string> profile_of(const Options& o) {
  bool const software = o.device.starts_with("soft:") || o.device == "soft";
  if (!software && o.device != "native")
    return usage("--device: unknown device '" + o.device + "'", "native, or soft:PROFILE; tidemark devices lists them");
  if (!software && (!o.memory.empty() || o.dry_run || o.execute))
    return usage("--memory, --dry-run and --execute are about a software device", "choose one: --device soft:a100-80g");
  if (o.dry_run && o.execute)
    return usage("--dry-run and --execute exclude each other", "give one of them, or neither");
  if (!software) return std::string();
  std::string const name = o.device.size() > 5 ? o.device.substr(5) : std::string(softgpu::kDefaultProfile);
  auto const profile = softgpu::find_profile(name);
  if (!profile.ok()) return usage(profile.error().what, "tidemark devices lists what there is");
  return name;
}

// The current folder for a pattern, in which a per cent sign means more than itself.
fs::path here() {
  std::string text;
  for (char const c : fs::current_path().string()) text += c == '%' ? "%%" : std::string(1, c);
  return text;
}

Result<void> can_be_written(const fs::path& folder) {
  std::error_code failure;
  if (!fs::is_directory(folder, failure))
    return Error{Errc::Io, folder.string() + ": no such folder", "make it first, or choose another place with -o"};
  if (access(folder.c_str(), W_OK) != 0)
    return Error{Errc::Io, folder.string() + ": " + std::strerror(errno), "choose another place with -o"};
  return {};
}

// The trace's name as every process of the launch will understand it, wherever it runs.
Result<std::string> out_of(const Options& o) {
  fs::path const name = o.out.empty() ? "tidemark-%p.tide" : o.out;
  fs::path const path = fs::absolute(name).lexically_normal();
  if (auto possible = can_be_written(path.parent_path()); !possible.ok()) return possible.error();
  std::error_code failure;
  fs::file_status const there = fs::symlink_status(path, failure);
  if (fs::is_directory(there) || path.filename().empty())
    return Error{Errc::Io, o.out + ": is a folder", "name a file in it: -o " + (fs::path(o.out) / "run.tide").string()};
  if (fs::exists(there) && !fs::is_regular_file(there))
    return Error{Errc::Io, o.out + ": is no regular file", "choose another name with -o"};
  if (fs::exists(there)) {
    if (!o.force) return Error{Errc::Io, o.out + ": there is a file of this name", "--force writes over it"};
    fs::remove(path, failure);
  }
  return (here() / name).lexically_normal().string();
}

std::string random_name() {
  std::random_device random;
  std::string text;
  for (int i = 0; i < 16; ++i) text += "0123456789abcdef"[random() % 16];
  return text;
}

Result<Plan> plan_of(const Options& o, Words program) {
  Plan plan{.program = {program.begin(), program.end()},
            .memory = o.memory,
            .mode = o.mode,
            .free = o.free,
            .limit = o.limit,
            .ring = o.ring,
            .stacks = o.stacks,
            .cache = o.cache,
            .run = random_name()};
  for (auto const& [option, text] : {std::pair{"--memory", &o.memory}, {"--limit", &o.limit}, {"--ring", &o.ring}})
    if (auto checked = check_size(option, *text); !checked.ok()) return checked.error();
  if (std::uint64_t const ring = o.ring.empty() ? trace::kSmallestRing : parse_bytes(o.ring)->n;
      ring < trace::kSmallestRing || ring > trace::kLargestRing)
    return usage("--ring: a trace of " + o.ring + " is not possible",
                 "from " + format_bytes({trace::kSmallestRing}) + " to " + format_bytes({trace::kLargestRing}));
  if (auto checked = check(o.cache, o.mode); !checked.ok()) return checked.error();
  TIDEMARK_TRY(plan.profile, profile_of(o));
  if (o.dry_run || o.execute) plan.dry_run = o.dry_run;
  return plan;
}

// What is known to fail is said before it does.
Result<void> can_be_seen(const Program& program, const Plan& plan) {
  if (!plan.profile.empty() && program.static_runtime)
    return Error{
        Errc::Unsupported,
        program.path + ": the CUDA runtime is linked into the program, which the software device cannot stand in for",
        "link it with nvcc -cudart shared (CMake: CUDA_RUNTIME_LIBRARY Shared)"};
  return {};
}

void warn_if_blind(const Program& program) {
  std::string const& path = program.path;
  if (program.set_user) talk("note: " + path + " runs as another user: the system ignores preloaded libraries");
  if (program.elf && !program.dynamic)
    talk("note: " + path + " is linked statically: nothing can be preloaded into it");
}

int ours(const Error& error, int code = kOwnFailure) {
  complain(error);
  return code;
}

int not_started(const Program& program, int why) {
  return ours({Errc::Io, program.path + ": " + std::strerror(why), ""}, why == ENOENT ? kNotFound : kNotExecutable);
}

// After the program: whatever goes wrong here, its own code is what counts.
void close_up(const TraceList& list, const Ended& ended, const Program& program, bool software) {
  std::vector<std::string> traces;
  std::string failure;
  for (TraceList::Entry const& entry : list.read()) {
    if (entry.written.empty()) {
      failure = entry.wanted;
      continue;
    }
    note_end(entry.written, ended.pid, ended.status);
    auto const home = bring_home(entry);
    if (!home.ok()) complain(home.error());
    traces.push_back(home.ok() ? *home : entry.written);
  }
  if (WIFSIGNALED(ended.status))
    talk("tidemark: the program was ended by " + analysis::report::signal_text(WTERMSIG(ended.status)));
  if (!traces.empty()) return talk(closing_lines(traces));
  if (failure.empty() && program.elf && !program.dynamic) failure = "it is linked statically";
  talk(failure.empty() ? nothing_recorded(software) : "tidemark: nothing was recorded: " + failure + "\n");
}

Result<std::string> second_door(const Libraries& libraries, const Plan& plan) {
  if (libraries.soname.empty())
    return Error{Errc::NotFound, "the second door is not here",
                 "build it: cmake --build --preset release --target tidemark_soname_alias"};
  return link_driver(plan.profile.empty() ? std::string() : libraries.softgpu + "/libcuda.so.1");
}

int launch(Plan plan, const Options& options) {
  auto program = inspect(plan.program[0]);
  if (!program.ok()) return ours(program.error(), program.error().code == Errc::NotFound ? kNotFound : kNotExecutable);
  if (auto seen = can_be_seen(*program, plan); !seen.ok()) return ours(seen.error());
  auto const libraries = find_libraries();
  if (!libraries.ok()) return ours(libraries.error());
  if (!plan.profile.empty() && libraries->softgpu.empty())
    return ours(
        {Errc::NotFound, "the software device is not here", "build it: cmake --build --preset release --target demo"});
  auto out = out_of(options);
  if (!out.ok()) return ours(out.error());
  auto const list = TraceList::create();
  if (!list.ok()) return ours(list.error());
  plan.out = *std::move(out);
  plan.list = list->path();
  if (options.door == "soname") {
    auto folder = second_door(*libraries, plan);
    if (!folder.ok()) return ours(folder.error());
    plan.driver_folder = *std::move(folder);
  }
  warn_if_blind(*program);

  Environment inherited;
  for (char** at = environ; *at != nullptr; ++at) inherited.emplace_back(*at);
  Environment const environment = environment_for(plan, *libraries, std::move(inherited), program->rpath);
  auto ended = run_child(program->path, plan.program, environment);
  // A script that does not name its interpreter is the shell's, as everywhere.
  if (ended.ok() && ended->start_failure == ENOEXEC && !program->binary) {
    std::vector<std::string> words = plan.program;
    words[0] = program->path;
    words.insert(words.begin(), "sh");
    ended = run_child("/bin/sh", words, environment);
  }
  if (!ended.ok()) return ours(ended.error());
  if (ended->start_failure != 0) return not_started(*program, ended->start_failure);
  close_up(*list, *ended, *program, !plan.profile.empty());
  return exit_code_of(ended->status);
}

}  // namespace

Result<int> cmd_run(Words words) {
  auto const dashes = std::find_if(words.begin(), words.end(), [](const char* w) { return std::strcmp(w, "--") == 0; });
  auto const before = static_cast<std::size_t>(dashes - words.begin());
  Options options;
  Arguments arguments("run", "Runs a program and records its GPU memory: tidemark run [OPTIONS] -- PROG ARGS...",
                      kExamples);
  declare(arguments, options);
  auto const parsed = arguments.parse(words.first(before));
  constexpr const char* kBehindDashes = "the program stands behind two dashes: tidemark run -- ./train";
  if (!parsed.ok()) return dashes == words.end() ? usage(parsed.error().what, kBehindDashes) : parsed.error();
  if (!*parsed) return kOk;
  if (dashes == words.end() || dashes + 1 == words.end()) return usage("no program was given", kBehindDashes);
  TIDEMARK_TRY(Plan plan, plan_of(options, words.subspan(before + 1)));
  return launch(std::move(plan), options);
}

}  // namespace tidemark::cli
