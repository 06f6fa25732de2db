// SPDX-License-Identifier: Apache-2.0
// tidemark-train, the reference trainer: docs/trainer.md. It knows nothing of tidemark but the marks of its C API.
#include <tidemark/tidemark.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "samples/trainer/choose.h"
#include "samples/trainer/loss_scale.h"
#include "samples/trainer/options.h"
#include "samples/trainer/session.h"
#include "samples/trainer/summary.h"

namespace tidemark::trainer {
namespace {

int fail(const Error& error, int code) {
  std::fprintf(stderr, "error: %s\n", error.what.c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  return code;
}

std::uint64_t thread_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

void describe(const Options& options, const Graph& graph, const Plan& plan) {
  std::printf("model       %.*s %.*s, %zu parameters, %zu ops\n", static_cast<int>(options.model.model.size()),
              options.model.model.data(), static_cast<int>(options.model.size.size()), options.model.size.data(),
              graph.parameter_elements(), graph.nodes.size());
  std::printf("batch       %zu in %zu parts\n", options.choices.batch, options.choices.accumulate);
  std::printf("planned     %s at the peak, %s of it for the whole training\n",
              format_bytes({peak_live_bytes(plan)}).c_str(), format_bytes({fixed_bytes(plan)}).c_str());
  if (plan.recomputed > 0)
    std::printf("recomputed  %zu ops of a step, %.1f %% more operations\n", plan.recomputed,
                100.0 * static_cast<double>(plan.recomputed_flops) /
                    static_cast<double>(plan.forward_flops + plan.backward_flops));
}

void print_step(const Options& options, const StepResult& result, std::uint64_t step, float scale) {
  if (options.json) return;
  std::printf("step %-6llu loss %.6f", static_cast<unsigned long long>(step), result.loss);
  if (result.skipped) std::printf(" skipped: the gradients overflowed at scale %g", static_cast<double>(scale));
}

void print_account(const Summary& summary) {
  double total = 0;
  for (std::uint64_t const ns : summary.step_ns) total += static_cast<double>(ns);
  const Account& account = summary.account;
  std::printf("took        %.3f s, %.3f ms per step\n", total / 1e9,
              total / 1e6 / static_cast<double>(summary.step_ns.size()));
  std::printf("peak live   %llu bytes (%s) in blocks of 512\n", static_cast<unsigned long long>(account.peak_bytes),
              format_bytes({account.peak_bytes}).c_str());
  std::printf("live        %llu bytes at the end, %llu allocations\n",
              static_cast<unsigned long long>(account.live_bytes),
              static_cast<unsigned long long>(account.allocations));
}

int train(const Options& options, const Graph& graph, const Schedule& schedule) {
  Session session(graph, options.choices, options.settings);
  Plan const plan = plan_training(graph, session.fixed(), options.choices, schedule);
  Plan const evaluation = plan_evaluation(graph, session.fixed(), options.choices, options.evaluation);
  Summary summary{.options = options, .graph = graph, .plan = plan};
  Witness witness(session, graph);
  if (options.json)
    summary.executed = Witness::values_are_computed(session.device());
  else
    describe(options, graph, plan);
  LossScale scale(options.settings.loss_scale, options.dynamic_scale);
  for (std::uint64_t step = 1; step <= options.steps; ++step) {
    session.settings().loss_scale = scale.value();
    if (summary.executed && step == options.steps) witness.watch_gradients();
    auto const began = std::chrono::steady_clock::now();
    std::uint64_t const cpu_began = thread_cpu_ns();
    StepResult const result = session.run(plan, step);
    summary.step_ns.push_back(static_cast<std::uint64_t>((std::chrono::steady_clock::now() - began).count()) -
                              witness.took_ns());
    summary.step_cpu_ns.push_back(thread_cpu_ns() - cpu_began);
    summary.losses.push_back(result.loss);
    summary.skipped_steps += result.skipped;
    print_step(options, result, step, scale.value());
    scale.note(result.skipped);
    if (options.evaluate) {
      summary.eval_losses.push_back(session.evaluate(evaluation, step).loss);
      if (!options.json) std::printf(" eval %.6f", summary.eval_losses.back());
    }
    if (!options.json) std::printf("\n");
    if (options.empty_cache) tidemark_empty_cache();
  }
  summary.account = session.device().account();
  if (!options.json) {
    print_account(summary);
    return 0;
  }
  if (summary.executed) {
    summary.gradients_hash = witness.gradients();
    summary.weights_hash = witness.weights();
  }
  std::printf("%s\n", to_json(summary).c_str());
  return 0;
}

int main_of(const std::vector<std::string>& arguments) {
  auto const options = read_options(arguments);
  if (!options) return fail(options.error(), 2);
  if (options->help) {
    std::fputs(usage().c_str(), stdout);
    return 0;
  }
  auto const graph = make_graph(*options);
  if (!graph) return fail(graph.error(), 2);
  auto const schedule = choose_schedule(*graph, lay_out(*graph, options->choices), options->choices);
  if (!schedule) return fail(schedule.error(), 2);
  return train(*options, *graph, *schedule);
}

}  // namespace
}  // namespace tidemark::trainer

int main(int argc, char** argv) {
  return tidemark::trainer::main_of({argv + 1, argv + argc});
}
