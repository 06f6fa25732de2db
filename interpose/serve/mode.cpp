// SPDX-License-Identifier: Apache-2.0
#include "interpose/serve/mode.h"

#include "base/log.h"
#include "interpose/order/order.h"
#include "interpose/process/process.h"
#include "interpose/record/recorder.h"
#include "interpose/serve/objects.h"
#include "interpose/serve/serve.h"
#include "interpose/serve/streams.h"

namespace tidemark::interpose::serve {

constinit std::atomic<bool> detail::serving{false};

namespace {

constinit std::atomic<bool> expected{false};
constinit std::atomic<std::uint64_t> objects_seen{0};

}  // namespace

void expect() {
  if (expected.exchange(true, std::memory_order_acq_rel)) return;
  if (mode_in_environment() == ModeChoice::Observe) return;
  order::set_guard(&is_within_blocks);
  order::listen(&on_work);
}

Decision decide(ModeChoice choice) {
  if (choice == ModeChoice::Observe) return {};
  objects_seen.store(objects_loaded(), std::memory_order_relaxed);
  std::string why = reason_to_observe();
  if (choice == ModeChoice::Auto && !why.empty()) return {.why = std::move(why)};
  if (!why.empty()) say("tidemark", why + ": --mode observe suits it better");
  return {.mode = trace::Mode::Cache};
}

void stop(const std::string& why) {
  if (!detail::serving.exchange(false, std::memory_order_acq_rel)) return;
  recorder().names().fact("mode.observe", why);
  say("tidemark", why + ": from here on memory is observed, not served");
}

void look_for_frameworks() {
  if (!serving()) return;
  std::uint64_t const now = objects_loaded();
  if (objects_seen.exchange(now, std::memory_order_relaxed) == now) return;
  std::string const why = reason_to_observe();
  if (why.empty()) return;
  if (options().mode == ModeChoice::Auto) return stop(why);
  say_once("mode", "tidemark", why + ": --mode observe suits it better");
}

}  // namespace tidemark::interpose::serve
