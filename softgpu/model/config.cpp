// SPDX-License-Identifier: Apache-2.0
#include "softgpu/model/config.h"

#include <algorithm>
#include <charconv>
#include <thread>

#include "base/env.h"

namespace tidemark::softgpu {
namespace {

using namespace tidemark::literals;

template <class T>
Result<T> named(const char* variable, Result<T> result) {
  if (result.ok()) return result;
  Error error = result.error();
  error.what = std::string(variable) + ": " + error.what;
  return error;
}

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

constexpr SlowCallName kSlowCalls[] = {
    {"ALLOC", "cuMemAlloc"},     {"ALLOC", "cuMemAllocPitch"},    {"ALLOC", "cuMemAllocAsync"},
    {"ALLOC", "cuMemCreate"},    {"FREE", "cuMemFree"},           {"FREE", "cuMemFreeAsync"},
    {"FREE", "cuMemUnmap"},      {"LAUNCH", "cuLaunchKernel"},    {"LAUNCH", "cuGraphLaunch"},
    {"COPY", "cuMemcpy"},        {"SYNC", "cuStreamSynchronize"}, {"SYNC", "cuEventSynchronize"},
    {"SYNC", "cuCtxSynchronize"}};
static_assert(std::size(kSlowCalls) == static_cast<std::size_t>(SlowCall::CtxSynchronize) + 1);

bool can_be_slow(std::string_view call) {
  return std::any_of(std::begin(kSlowCalls), std::end(kSlowCalls),
                     [call](SlowCallName const& known) { return call == known.group || call == known.name; });
}

Result<Fault> parse_fault(std::string_view text) {
  Error const bad{Errc::InvalidArgument, "not a fault: '" + std::string(text) + "'",
                  "known: oom@N, oom@>SIZE, launch@N, ecc@N, early@N, slow:CALL=DURATION"};
  if (text.starts_with("oom@>")) {
    TIDEMARK_TRY(Bytes const size, parse_bytes(text.substr(5)));
    return Fault{.kind = Fault::Kind::OomAbove, .value = size.n, .call = {}};
  }
  if (text.starts_with("slow:")) {
    auto const equals = text.find('=');
    if (equals == std::string_view::npos) return bad;
    if (!can_be_slow(text.substr(5, equals - 5)))
      return Error{Errc::InvalidArgument, "not a fault: '" + std::string(text) + "': no such call",
                   "calls: ALLOC, FREE, LAUNCH, COPY, SYNC, or one of them such as cuMemFree"};
    TIDEMARK_TRY(std::uint64_t const ns, parse_duration_ns(text.substr(equals + 1)));
    return Fault{.kind = Fault::Kind::Slow, .value = ns, .call = std::string(text.substr(5, equals - 5))};
  }
  struct Counted {
    std::string_view prefix;
    Fault::Kind kind;
  };
  for (Counted const& c : {Counted{"oom@", Fault::Kind::OomAt}, Counted{"launch@", Fault::Kind::LaunchAt},
                           Counted{"ecc@", Fault::Kind::EccAt}, Counted{"early@", Fault::Kind::EarlyFrom}}) {
    if (!text.starts_with(c.prefix)) continue;
    auto const n = whole_number(text.substr(c.prefix.size()));
    if (!n || *n == 0) return bad;
    return Fault{.kind = c.kind, .value = *n, .call = {}};
  }
  return bad;
}

Result<RunMode> read_run_mode() {
  if (!env_text("SOFTGPU_DRY_RUN")) return RunMode::Auto;
  TIDEMARK_TRY(bool const dry, env_flag("SOFTGPU_DRY_RUN", false));
  return dry ? RunMode::DryRun : RunMode::Execute;
}

Result<ClockKind> read_clock() {
  std::string const text = env_text("SOFTGPU_CLOCK").value_or("real");
  if (text == "real") return ClockKind::Real;
  if (text == "sim") return ClockKind::Simulated;
  return Error{Errc::InvalidArgument, "SOFTGPU_CLOCK: unknown clock '" + text + "'", "write real or sim"};
}

struct Limits {
  std::uint64_t least, most;
};
Result<int> read_small(const char* variable, std::uint64_t otherwise, Limits limits) {
  TIDEMARK_TRY(std::uint64_t const n, env_count(variable, otherwise));
  if (n < limits.least || n > limits.most)
    return Error{Errc::InvalidArgument, std::string(variable) + ": " + std::to_string(n) + " is out of range",
                 "write " + std::to_string(limits.least) + " to " + std::to_string(limits.most)};
  return static_cast<int>(n);
}

Result<void> read_card(Config& c) {
  std::string const profile = env_text("SOFTGPU_PROFILE").value_or(std::string(kDefaultProfile));
  TIDEMARK_TRY(c.profile, named("SOFTGPU_PROFILE", find_profile(profile)));
  TIDEMARK_TRY(c.memory, env_bytes("SOFTGPU_MEMORY", c.profile->memory));
  // A guess until measured on cards: a bare context with a few modules takes a few hundred MiB on current drivers.
  TIDEMARK_TRY(c.context_overhead, env_bytes("SOFTGPU_CONTEXT", std::min(300_MiB, Bytes{c.memory.n / 8})));
  if (c.memory < 8_MiB || c.memory > 512_GiB)
    return Error{Errc::InvalidArgument, "SOFTGPU_MEMORY: " + format_bytes(c.memory) + " is out of range",
                 "write 8MiB to 512GiB"};
  TIDEMARK_TRY(c.device_count, read_small("SOFTGPU_DEVICES", 1, {1, 16}));
  TIDEMARK_TRY(c.driver_version, read_small("SOFTGPU_DRIVER_VERSION", 13000, {1, 99990}));
  unsigned const cores = std::max(1u, std::thread::hardware_concurrency());
  TIDEMARK_TRY(c.workers, read_small("SOFTGPU_WORKERS", cores, {1, 256}));
  return {};
}

Result<void> read_timing(Config& c) {
  TIDEMARK_TRY(ScheduleChoice const choice, parse_schedule(env_text("SOFTGPU_SCHEDULE").value_or("eager")));
  c.schedule = choice.schedule;
  c.seed = choice.seed;
  TIDEMARK_TRY(c.clock, read_clock());
  c.kernel_time_set = env_text("SOFTGPU_KERNEL_TIME").has_value();
  TIDEMARK_TRY(c.kernel_ns, env_duration_ns("SOFTGPU_KERNEL_TIME", 0));
  return {};
}

}  // namespace

SlowCallName name_of(SlowCall call) {
  return kSlowCalls[static_cast<std::size_t>(call)];
}

std::string Config::device_name() const {
  return "SoftGPU (" + std::string(profile->name) + ")";
}

Result<ScheduleChoice> parse_schedule(std::string_view text) {
  if (text == "eager") return ScheduleChoice{Schedule::Eager, 0};
  if (text == "late") return ScheduleChoice{Schedule::Late, 0};
  if (text.starts_with("random:"))
    if (auto const seed = whole_number(text.substr(7))) return ScheduleChoice{Schedule::Random, *seed};
  return Error{Errc::InvalidArgument, "SOFTGPU_SCHEDULE: unknown schedule '" + std::string(text) + "'",
               "write eager, late or random:SEED"};
}

Result<std::vector<Fault>> parse_faults(std::string_view text) {
  std::vector<Fault> faults;
  while (!text.empty()) {
    auto const comma = text.find(',');
    TIDEMARK_TRY(Fault fault, parse_fault(text.substr(0, comma)));
    faults.push_back(std::move(fault));
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return faults;
}

Result<Config> read_config() {
  Config c;
  if (auto card = read_card(c); !card) return card.error();
  if (auto timing = read_timing(c); !timing) return timing.error();
  TIDEMARK_TRY(c.run_mode, read_run_mode());
  TIDEMARK_TRY(c.check, env_flag("SOFTGPU_CHECK", false));
  TIDEMARK_TRY(c.quiet, env_flag("SOFTGPU_QUIET", false));
  TIDEMARK_TRY(c.faults, named("SOFTGPU_FAULT", parse_faults(env_text("SOFTGPU_FAULT").value_or(""))));
  TIDEMARK_TRY(c.dry_copy_limit, env_bytes("SOFTGPU_DRY_COPY", 1_MiB));
  // Read by the libraries that compute; said here, so that they never have to choose something else.
  TIDEMARK_TRY([[maybe_unused]] int const stack, read_small("SOFTGPU_STACK", 64, {16, 1u << 20}));
  TIDEMARK_TRY([[maybe_unused]] int const threads, read_small("SOFTGPU_BLAS_THREADS", 1, {1, 1024}));
  c.kernel_libraries = env_text("SOFTGPU_KERNELS").value_or("");
  c.share = env_text("SOFTGPU_SHARE").value_or("");
  return c;
}

}  // namespace tidemark::softgpu
