// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/preload/run_host.h"

#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "tests/support/replay.h"

namespace tidemark::test {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "host-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
    // Hosts may run as somebody else.
    fs::permissions(path_, fs::perms::all);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// What a file holds, as far as a message can show it.
std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string const all{std::istreambuf_iterator<char>(file), {}};
  return all.size() <= 200 ? all : all.substr(0, 200) + "... " + std::to_string(all.size()) + " bytes";
}

std::string joined(const Host& host) {
  std::string all;
  for (std::string const& library : {host.preload_before, std::string(HOSTS_LIBRARY), host.preload_after})
    if (!library.empty()) all += (all.empty() ? "" : ":") + library;
  return all;
}

std::string others(const Host& host) {
  return host.preload_before.empty() ? host.preload_after : host.preload_before;
}

// tidemark's own lines are the only ones that may be there more than without it.
void take_out_ours(std::string& text, std::string& ours) {
  std::istringstream lines(text);
  std::string rest, line;
  bool page = false;  // the lines of a post-mortem after its first are indented
  while (std::getline(lines, line)) {
    page = line.starts_with("tidemark: ") || (page && line.starts_with("  "));
    (page ? ours : rest) += line + "\n";
  }
  text = rest;
}

// %f stands for the host's folder.
std::string in_folder(std::string path, const fs::path& folder) {
  if (std::size_t const at = path.find("%f"); at != std::string::npos) path.replace(at, 2, folder.string());
  return path;
}

void collect(const fs::path& folder, Ran& ran) {
  for (fs::directory_entry const& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().filename() == "account") continue;
    if (entry.path().extension() != ".tide") {
      ran.files[fs::relative(entry.path(), folder).string()] = contents(entry.path());
      continue;
    }
    auto trace = trace::Trace::open(entry.path().string());
    if (trace.ok())
      ran.traces.push_back(std::move(*trace));
    else
      ran.unreadable.push_back(trace.error().what);
  }
  std::sort(ran.traces.begin(), ran.traces.end(), [](const trace::Trace& a, const trace::Trace& b) {
    return a.header().begin.monotonic_ns < b.header().begin.monotonic_ns;
  });
}

// A host that hangs is killed: that is told from its exit code, and the tests behind it still run.
conformance::Outcome run_at_most(const conformance::Program& program, std::chrono::seconds time) {
  conformance::Process process(program);
  std::mutex mutex;
  std::condition_variable ended;
  bool over = false;
  std::thread watch([&] {
    std::unique_lock lock(mutex);
    if (!ended.wait_for(lock, time, [&] { return over; })) process.kill();
  });
  conformance::Outcome outcome = process.wait();
  {
    std::lock_guard const lock(mutex);
    over = true;
    ended.notify_one();
  }
  watch.join();
  return outcome;
}

std::vector<Account> read_accounts(const fs::path& path) {
  std::ifstream file(path);
  std::vector<Account> accounts;
  for (Account a; file >> a.allocations >> a.frees >> a.live_bytes >> a.lost;) accounts.push_back(a);
  return accounts;
}

}  // namespace

Ran run_host(const Host& host, How how) {
  Folder const folder;
  conformance::Program program{
      .path = (fs::path(HOSTS_FOLDER) / host.name).string(),
      .arguments = host.arguments,
      .environment = {"LD_LIBRARY_PATH=" HOSTS_SOFTGPU, "SOFTGPU_QUIET=1", "SOFTGPU_DRY_RUN=1", "SOFTGPU_MEMORY=8GiB",
                      "HOST_ACCOUNT=" + (folder.path() / "account").string()},
      .folder = folder.path().string()};
  program.environment.insert(program.environment.end(), host.environment.begin(), host.environment.end());
  std::string const out = "TIDEMARK_OUT=" + in_folder(host.out, folder.path());
  if (how == How::Preloaded || how == How::Observed || how == How::Everything) {
    program.environment.insert(program.environment.end(), {"LD_PRELOAD=" + joined(host), out});
    if (how == How::Observed) program.environment.push_back("TIDEMARK_MODE=observe");
    if (how == How::Everything)
      program.environment.insert(program.environment.end(), {"TIDEMARK_STACKS=1", "TIDEMARK_CUPTI=1"});
  } else if (!others(host).empty()) {
    program.environment.push_back("LD_PRELOAD=" + others(host));
  }
#ifdef HOSTS_COMMAND
  if (how == How::Command) {
    std::vector<std::string> arguments{"run", "-o", host.out, "--", program.path};
    arguments.insert(arguments.end(), program.arguments.begin(), program.arguments.end());
    program.path = HOSTS_COMMAND;
    program.arguments = arguments;
  }
#endif
  if (!host.launcher.empty()) {
    std::vector<std::string> arguments = host.launcher_arguments;
    arguments.push_back(program.path);
    arguments.insert(arguments.end(), program.arguments.begin(), program.arguments.end());
    program.path = host.launcher;
    program.arguments = arguments;
  }
  Ran ran{.outcome = run_at_most(program, std::chrono::seconds(20))};
  if (ran.outcome.exit_code < 0) throw std::runtime_error(program.path + " could not be started");
  take_out_ours(ran.outcome.err, ran.said);
  collect(folder.path(), ran);
  ran.accounts = read_accounts(folder.path() / "account");
  return ran;
}

std::vector<std::string> faults_of(const trace::Trace& trace, bool exact) {
  Replay const all = replay(trace);
  std::vector<std::string> faults = all.impossible();
  trace::Totals const& totals = trace.header().totals;
  auto const compare = [&](const char* what, std::uint64_t header, std::uint64_t events) {
    if (header != events)
      faults.push_back(std::string(what) + ": the header says " + std::to_string(header) + ", the events " +
                       std::to_string(events));
  };
  if (!exact) {
    // A thread that dies between the real free and its record: somebody else may have had the address by then. One
    // such free for each thread; readers take the block before to have ended (trace/read/ordered.h).
    std::set<std::uint32_t> threads;
    for (auto const& event : ordered_events(trace)) threads.insert(event.context.thread);
    for (std::size_t i = 0, left = threads.size(); i < faults.size() && left > 0;)
      if (faults[i].starts_with("live twice")) {
        faults.erase(faults.begin() + static_cast<std::ptrdiff_t>(i));
        --left;
      } else {
        ++i;
      }
    return faults;
  }
  compare("allocations", totals.allocations, all.allocations());
  compare("frees", totals.frees, all.frees());
  compare("live bytes", totals.live_bytes, all.live_on_device_bytes());
  compare("reserved bytes", totals.reserved_bytes, all.reserved_bytes());
  return faults;
}

}  // namespace tidemark::test
