// SPDX-License-Identifier: Apache-2.0
#include "interpose/process/process.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/quietly.h"
#include "interpose/process/facts.h"
#include "interpose/real/driver.h"
#include "interpose/record/recorder.h"
#include "interpose/serve/idle.h"
#include "interpose/serve/mode.h"
#include "interpose/serve/usage.h"
#include "interpose/stack/stacks.h"
#include "interpose/watch/cupti.h"
#include "interpose/watch/sampler.h"

namespace tidemark::interpose {
namespace {

constinit Options* the_options = nullptr;  // never taken down: hooks run until the very end

// The driver takes itself down in a handler of its own: no CUDA call here.
void at_exit() {
  if (!recording()) return;
  stop_sampler();
  serve::stop_idle_trim();
  stop_cupti();
  shield([] {
    serve::write_statistics();
    trace::File& file = recorder().file();
    trace::Totals const totals = file.header().totals;
    file.close(trace::FileState::Closed);
    if (!the_options->summary) return;
    const char* const mode = file.header().mode == trace::Mode::Cache ? "cache" : "observe";
    say("tidemark", std::string("mode ") + mode + ", peak " + format_bytes({totals.peak_live_bytes}) + " live, " +
                        format_bytes({totals.peak_reserved_bytes}) + " reserved; trace: " + file.path());
  });
}

// The launcher's list gets where the trace is and where it was to be, a zero byte behind each; or nothing, and why
// there is none. One write: the processes of a launch append to one file.
void tell_launcher(const std::string& list, const std::string& written, const std::string& wanted) {
  if (list.empty()) return;
  int const file = open(list.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return;
  std::string const entry = written + '\0' + wanted + '\0';
  [[maybe_unused]] ssize_t const n = write(file, entry.data(), entry.size());
  close(file);
}

void say_error(const Error& error) {
  say("tidemark", "error: " + error.what + "; nothing is recorded");
  if (!error.hint.empty()) say("tidemark", "hint: " + error.hint);
  const char* const list = getenv("TIDEMARK_RUN_LIST");
  tell_launcher(list == nullptr ? "" : list, "", error.what);
}

void name_unknown_variables() {
  for (auto const& [name, meant] : unknown_variables(environ, "TIDEMARK_", known_variables()))
    say("tidemark", name + " is not a variable of tidemark and has no effect" +
                        (meant.empty() ? std::string() : " (meant: " + std::string(meant) + "?)"));
}

// The space is memory then, which a program that is short of it should know.
void note_place(const trace::File& file) {
  if (!file.relocated()) return;
  recorder().names().fact("trace.place", "memory");
  say("tidemark", std::string(file.wanted_path()) +
                      ": its file system does not promise space; the trace is written to " + file.path() +
                      (the_options->list.empty() ? "" : " and copied at the end"));
}

// What only served memory can follow is not silently left out where memory is observed.
serve::Decision decide() {
  const CacheOptions& asked = the_options->cache;
  if (asked.whole_blocks) return {.why = "every block is to be the driver's own"};
  serve::Decision decision = serve::decide(the_options->mode);
  if (decision.mode != trace::Mode::Cache && asked.about_served_memory())
    say("tidemark",
        "memory is observed: TIDEMARK_ROUND, _CACHE_CAP, _TRIM_AFTER, _POISON and _CHECK_FREES have no effect without "
        "--mode cache");
  return decision;
}

bool start() {
  keep_to_stderr();
  name_unknown_variables();
  auto options = Options::from_environment();
  if (!options.ok()) {
    say_error(options.error());
    return false;
  }
  the_options = new Options(*std::move(options));
  serve::expect();
  serve::Decision const decision = decide();
  if (auto begun = recorder().start(*the_options, decision.mode); !begun.ok()) {
    say_error(begun.error());
    return false;
  }
  if (!decision.why.empty()) recorder().names().fact("mode.observe", decision.why);
  serve::detail::serving.store(decision.mode == trace::Mode::Cache, std::memory_order_release);
  write_process_facts(recorder().names(), *the_options, decision.mode);
  note_place(recorder().file());
  tell_launcher(the_options->list, recorder().file().path(), recorder().file().wanted_path());
  return true;
}

}  // namespace

const Options& options() {
  return *the_options;
}

bool start_recording() {
  if (detail::stage_page.load(std::memory_order_acquire) != nullptr && this_thread().inside) return false;
  shield([] {
    // It opens and reads files: places where a thread may be cancelled, and all others would wait for it for ever.
    Quietly const quietly;
    // The linker is asked before: who waits for us may be in a constructor, and nobody gets past him there.
    if (detail::stage_page.load(std::memory_order_acquire) == nullptr) Stacks::prepare();
    if (!begin_start()) return;
    bool const well = start();
    started(well);
    if (!well) return;
    // Not before the others may go on: a thread of CUPTI's may come through a hook, and would wait for us.
    start_cupti(the_options->cupti);
    atexit(at_exit);
  });
  return recording();
}

// Without a driver there is nothing to record: a framework's stub is about to load it, and then comes back to us.
bool start_with_driver() {
  return has_driver() && start_recording();
}

}  // namespace tidemark::interpose
