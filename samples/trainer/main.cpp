// SPDX-License-Identifier: Apache-2.0
// tidemark-train, the reference trainer: docs/trainer.md. It knows nothing of tidemark but the marks of its C API.
#include <tidemark/tidemark.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "samples/trainer/loss_scale.h"
#include "samples/trainer/options.h"
#include "samples/trainer/session.h"

namespace tidemark::trainer {
namespace {

int fail(const Error& error, int code) {
  std::fprintf(stderr, "error: %s\n", error.what.c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  return code;
}

void describe(const Options& options, const Graph& graph, const Plan& plan) {
  std::printf("model       %.*s %.*s, %zu parameters, %zu ops\n", static_cast<int>(options.model.model.size()),
              options.model.model.data(), static_cast<int>(options.model.size.size()), options.model.size.data(),
              graph.parameter_elements(), graph.nodes.size());
  std::printf("batch       %zu in %zu parts\n", options.choices.batch, options.choices.accumulate);
  std::printf("planned     %s at the peak, %s of it for the whole training\n",
              format_bytes({peak_live_bytes(plan)}).c_str(), format_bytes({fixed_bytes(plan)}).c_str());
  if (plan.recomputed > 0) std::printf("recomputed  %zu ops of a step\n", plan.recomputed);
}

int train(const Options& options, const Graph& graph) {
  Session session(graph, options.choices, options.settings);
  Plan const plan = plan_training(graph, session.fixed(), options.choices);
  Plan const evaluation = plan_evaluation(graph, session.fixed(), options.choices, options.evaluation);
  describe(options, graph, plan);
  LossScale scale(options.settings.loss_scale, options.dynamic_scale);
  auto const began = std::chrono::steady_clock::now();
  for (std::uint64_t step = 1; step <= options.steps; ++step) {
    session.settings().loss_scale = scale.value();
    StepResult const result = session.run(plan, step);
    std::printf("step %-6llu loss %.6f", static_cast<unsigned long long>(step), result.loss);
    if (result.skipped)
      std::printf(" skipped: the gradients overflowed at scale %g", static_cast<double>(scale.value()));
    scale.note(result.skipped);
    if (options.evaluate) std::printf(" eval %.6f", session.evaluate(evaluation, step).loss);
    std::printf("\n");
    if (options.empty_cache) tidemark_empty_cache();
  }
  std::chrono::duration<double> const took = std::chrono::steady_clock::now() - began;
  const Account& account = session.device().account();
  std::printf("took        %.3f s, %.3f ms per step\n", took.count(),
              1e3 * took.count() / static_cast<double>(options.steps));
  std::printf("peak live   %llu bytes (%s) in blocks of 512\n", static_cast<unsigned long long>(account.peak_bytes),
              format_bytes({account.peak_bytes}).c_str());
  std::printf("live        %llu bytes at the end, %llu allocations\n",
              static_cast<unsigned long long>(account.live_bytes),
              static_cast<unsigned long long>(account.allocations));
  return 0;
}

int main_of(const std::vector<std::string>& arguments) {
  auto const options = read_options(arguments);
  if (!options) return fail(options.error(), 2);
  if (options->help) {
    std::fputs(usage().c_str(), stdout);
    return 0;
  }
  auto const graph = read_model(options->model.text, options->model.variables);
  if (!graph) return fail(graph.error(), 2);
  return train(*options, *graph);
}

}  // namespace
}  // namespace tidemark::trainer

int main(int argc, char** argv) {
  return tidemark::trainer::main_of({argv + 1, argv + argc});
}
