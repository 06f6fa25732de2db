// SPDX-License-Identifier: Apache-2.0
#include "samples/trainer/summary.h"

#include <tidemark/tidemark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "kernels/generate.h"
#include "samples/trainer/check.h"
#include "samples/trainer/outputs.h"

namespace tidemark::trainer {
namespace {

// Names of models and sizes need no escapes; numbers are JSON's or null.
class Object {
 public:
  void text(const char* key, std::string_view value) { add(key, "\"" + std::string(value) + "\""); }
  void number(const char* key, std::uint64_t value) { add(key, std::to_string(value)); }
  void real(const char* key, double value) { add(key, of(value)); }
  void truth(const char* key, bool value) { add(key, value ? "true" : "false"); }
  void null(const char* key) { add(key, "null"); }
  template <class T>
  void list(const char* key, const std::vector<T>& values) {
    std::string text = "[";
    for (const T& value : values) text += (text.size() == 1 ? "" : ",") + of(value);
    add(key, text + "]");
  }
  std::string close() const { return text_ + "}"; }

 private:
  static std::string of(std::uint64_t value) { return std::to_string(value); }
  static std::string of(double value) {
    if (!std::isfinite(value)) return "null";
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.9g", value);
    return digits;
  }
  void add(const char* key, const std::string& value) {
    text_ += (text_.size() == 1 ? "\"" : ",\"") + std::string(key) + "\":" + value;
  }
  std::string text_ = "{";
};

std::string hex(std::uint64_t value) {
  char digits[20];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(value));
  return digits;
}

std::uint64_t median(std::vector<std::uint64_t> values) {
  if (values.empty()) return 0;
  auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

void Hash::add(const void* bytes, std::size_t count) {
  const auto* const at = static_cast<const unsigned char*>(bytes);
  for (std::size_t i = 0; i < count; ++i) value_ = (value_ ^ at[i]) * 0x100000001b3u;
}

Witness::Witness(Session& session, const Graph& graph)
    : session_(session), graph_(graph), gradients_(graph.parameters.size(), 0) {}

std::uint64_t Witness::hash_of(const void* device_address, std::size_t elements) const {
  std::vector<float> host(elements);
  TRAINER_CHECK(cudaMemcpy(host.data(), device_address, elements * sizeof(float), cudaMemcpyDeviceToHost));
  Hash hash;
  hash.add(host.data(), elements * sizeof(float));
  return hash.value();
}

void Witness::watch_gradients() {
  session_.watch([this](ParameterId p, const float* gradient, std::size_t n) {
    auto const began = std::chrono::steady_clock::now();
    session_.device().synchronize();
    gradients_[p] = hash_of(gradient, n);
    took_ns_ += static_cast<std::uint64_t>((std::chrono::steady_clock::now() - began).count());
  });
}

std::uint64_t Witness::gradients() const {
  Hash hash;
  hash.add(gradients_.data(), gradients_.size() * sizeof gradients_[0]);
  return hash.value();
}

std::uint64_t Witness::weights() const {
  session_.device().synchronize();
  Hash hash;
  auto const add = [&](BufferId buffer, std::size_t elements) {
    std::uint64_t const one = hash_of(session_.address(buffer), elements);
    hash.add(&one, sizeof one);
  };
  for (std::size_t p = 0; p < graph_.parameters.size(); ++p)
    add(session_.fixed().parameters[p].value, graph_.parameters[p].elements);
  for (std::size_t s = 0; s < graph_.statistics.size(); ++s)
    add(session_.fixed().statistics[s], graph_.statistics[s].elements);
  return hash.value();
}

bool Witness::values_are_computed(Device& device) {
  float value = 0;
  tidemark_push(TIDEMARK_PHASE, "setup");
  tidemark_push(TIDEMARK_LAYER, "probe");
  void* const block = device.allocate(sizeof value);
  tidemark_tag(block, TIDEMARK_BUFFER, "probe");
  kernels::fill(device.stream(), static_cast<float*>(block), 1, 42.0f);
  TRAINER_CHECK(cudaMemcpyAsync(&value, block, sizeof value, cudaMemcpyDeviceToHost, device.stream()));
  device.synchronize();
  device.free(block, sizeof value);
  tidemark_pop(TIDEMARK_LAYER);
  tidemark_pop(TIDEMARK_PHASE);
  return value == 42.0f;
}

std::string to_json(const Summary& s) {
  Object json;
  json.text("model", s.options.model.model);
  json.text("size", s.options.model.size);
  json.number("batch", s.options.choices.batch);
  json.number("accumulate", s.options.choices.accumulate);
  json.number("steps", s.options.steps);
  json.number("parameters", s.graph.parameter_elements());
  json.truth("executed", s.executed);
  if (s.executed) {
    json.list("losses", s.losses);
    json.list("eval_losses", s.eval_losses);
  } else {
    json.null("losses");
    json.null("eval_losses");
  }
  json.number("skipped_steps", s.skipped_steps);
  json.list("step_ns", s.step_ns);
  json.number("ns_per_step", median(s.step_ns));
  json.list("step_cpu_ns", s.step_cpu_ns);
  json.number("planned_peak_bytes", peak_live_bytes(s.plan));
  json.number("peak_live_bytes", s.account.peak_bytes);
  json.number("fixed_bytes", fixed_bytes(s.plan));
  json.number("end_live_bytes", s.account.live_bytes);
  json.number("allocations", s.account.allocations);
  json.number("forward_flops", s.plan.forward_flops);
  json.number("backward_flops", s.plan.backward_flops);
  json.number("recomputed_flops", s.plan.recomputed_flops);
  json.number("recomputed_ops", s.plan.recomputed);
  json.real("recompute_flops_ratio", static_cast<double>(s.plan.recomputed_flops) /
                                         static_cast<double>(s.plan.forward_flops + s.plan.backward_flops));
  ModuleOutputs const outputs = count_outputs(s.graph);
  json.number("module_outputs", outputs.modules);
  json.number("activation_outputs", outputs.activations);
  json.number("input_elements", s.graph.data.input.elements());
  if (s.executed) {
    json.text("gradients_hash", hex(s.gradients_hash));
    json.text("weights_hash", hex(s.weights_hash));
  } else {
    json.null("gradients_hash");
    json.null("weights_hash");
  }
  return json.close();
}

}  // namespace tidemark::trainer
