// SPDX-License-Identifier: Apache-2.0
#include "interpose/scope/nvtx_meaning.h"

#include <algorithm>
#include <array>

namespace tidemark::interpose {
namespace {

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_letter(char c) {
  return lower(c) >= 'a' && lower(c) <= 'z';
}
bool same(std::string_view text, std::string_view word) {
  return std::equal(text.begin(), text.end(), word.begin(), word.end(), [](char a, char b) { return lower(a) == b; });
}

// Removes a word from the front, whatever its case; false when it is not there.
bool take(std::string_view& text, std::string_view word) {
  if (!same(text.substr(0, word.size()), word)) return false;
  text.remove_prefix(word.size());
  return true;
}

// The letters at the front.
std::string_view take_letters(std::string_view& text) {
  std::size_t const end =
      static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_letter) - text.begin());
  std::string_view const word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

// PyTorch's profiler writes what it knows of a call behind its name: "aten::addmm, op_id = 7, seq = 3, sizes = [[…]]".
std::string_view without_details(std::string_view message) {
  constexpr std::array<std::string_view, 4> kDetails{"seq = ", "op_id = ", "sizes = ", "input_op_ids = "};
  for (std::size_t at = message.find(", "); at != std::string_view::npos; at = message.find(", ", at + 2))
    for (std::string_view const detail : kDetails)
      if (message.substr(at + 2).starts_with(detail)) return message.substr(0, at);
  return message;
}

struct PhaseWord {
  std::string_view word;
  trace::Phase phase;
};
constexpr std::array kPhaseWords{
    PhaseWord{"forward", trace::Phase::Forward},     PhaseWord{"fwd", trace::Phase::Forward},
    PhaseWord{"backward", trace::Phase::Backward},   PhaseWord{"bwd", trace::Phase::Backward},
    PhaseWord{"optimizer", trace::Phase::Optimizer}, PhaseWord{"optim", trace::Phase::Optimizer},
    PhaseWord{"opt", trace::Phase::Optimizer},       PhaseWord{"eval", trace::Phase::Eval},
    PhaseWord{"evaluation", trace::Phase::Eval},     PhaseWord{"validation", trace::Phase::Eval},
    PhaseWord{"setup", trace::Phase::Setup},
};

bool is_separator(char c) {
  return c == ' ' || c == '_' || c == '-' || c == '.' || c == '#' || c == ':' || c == '=';
}

// "forward", "Forward pass", "backward()", "optimizer.step()"
bool read_phase(std::string_view text, trace::Phase& phase) {
  std::string_view const word = take_letters(text);
  auto const* const found =
      std::find_if(kPhaseWords.begin(), kPhaseWords.end(), [&](const PhaseWord& w) { return same(word, w.word); });
  if (found == kPhaseWords.end()) return false;
  phase = found->phase;
  if (!text.empty() && is_separator(text[0])) {
    text.remove_prefix(1);
    if (!take(text, "pass") && !take(text, "step") && !take(text, "phase")) return false;
  }
  take(text, "()");
  return text.empty();
}

// "iteration 17", "step_17", "Epoch 3/10": a number at the end that counts, after a word of the given ones.
template <std::size_t n>
bool read_counted(std::string_view text, const std::array<std::string_view, n>& words, std::uint64_t& number) {
  auto const* const word =
      std::find_if(words.begin(), words.end(), [&](std::string_view w) { return same(text.substr(0, w.size()), w); });
  if (word == words.end()) return false;
  text.remove_prefix(word->size());
  while (!text.empty() && is_separator(text[0])) text.remove_prefix(1);
  std::size_t digits = 0;
  for (number = 0; digits < text.size() && is_digit(text[digits]) && digits < 18; ++digits)
    number = number * 10 + static_cast<std::uint64_t>(text[digits] - '0');
  if (digits == 0) return false;
  text.remove_prefix(digits);
  if (!text.empty() && text[0] == '/') {
    text.remove_prefix(1);
    while (!text.empty() && is_digit(text[0])) text.remove_prefix(1);
  }
  return text.empty();
}

constexpr std::array<std::string_view, 7> kStepWords{"iteration",  "iter",          "step",         "train_step",
                                                     "train step", "training_step", "training step"};
constexpr std::array<std::string_view, 7> kLoopWords{"epoch",       "batch",      "minibatch", "mini-batch",
                                                     "micro-batch", "microbatch", "sample"};

// What PyTorch's own code marks. An operator is no layer: it would cut every layer into its calls.
constexpr std::array<std::string_view, 13> kOperators{"aten::",
                                                      "prim::",
                                                      "prims::",
                                                      "c10::",
                                                      "c10d::",
                                                      "torch::",
                                                      "torchvision::",
                                                      "autograd::",
                                                      "profiler::",
                                                      "quantized::",
                                                      "inductor::",
                                                      "nccl:",
                                                      "enumerate(DataLoader)#"};

bool is_operator(std::string_view name, bool has_details) {
  if (std::any_of(kOperators.begin(), kOperators.end(), [&](std::string_view o) { return name.starts_with(o); }))
    return true;
  // "AddmmBackward0" with a sequence number: a node of the backward graph.
  std::string_view stem = name;
  while (!stem.empty() && is_digit(stem.back())) stem.remove_suffix(1);
  return has_details && stem.ends_with("Backward");
}

}  // namespace

NvtxMeaning nvtx_meaning(std::string_view message) {
  std::string_view const name = without_details(message);
  if (name.empty()) return {};
  if (name.starts_with("autograd::engine::evaluate_function"))
    return {.what = NvtxMeaning::Phase, .phase = trace::Phase::Backward};
  if (name.starts_with("Optimizer.step#") || name.starts_with("Optimizer.zero_grad#"))
    return {.what = NvtxMeaning::Phase, .phase = trace::Phase::Optimizer};
  if (is_operator(name, name.size() != message.size())) return {};
  trace::Phase phase{};
  if (read_phase(name, phase)) return {.what = NvtxMeaning::Phase, .phase = phase};
  std::uint64_t number = 0;
  if (read_counted(name, std::array<std::string_view, 1>{"profilerstep"}, number) ||
      read_counted(name, kStepWords, number))
    return {.what = NvtxMeaning::Step, .step = number};
  if (read_counted(name, kLoopWords, number)) return {};
  return {.what = NvtxMeaning::Layer, .layer = name};
}

bool nvtx_domain_is_a_librarys(std::string_view name) {
  constexpr std::array<std::string_view, 7> kLibraries{"cccl",     "cublas",   "cudnn", "cufft",
                                                       "cusparse", "cusolver", "curand"};
  return std::any_of(kLibraries.begin(), kLibraries.end(), [&](std::string_view l) { return same(name, l); });
}

}  // namespace tidemark::interpose
