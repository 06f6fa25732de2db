// SPDX-License-Identifier: Apache-2.0
#include "interpose/scope/nvtx_meaning.h"

#include <algorithm>
#include <array>

namespace tidemark::interpose {
namespace {

using trace::Phase;

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_separator(char c) {
  return c == ' ' || c == '_' || c == '-' || c == '.' || c == '#' || c == ':' || c == '=';
}

// Removes a word from the front, whatever its case; false when it is not there.
bool take(std::string_view& text, std::string_view word) {
  if (text.size() < word.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i)
    if (lower(text[i]) != word[i]) return false;
  text.remove_prefix(word.size());
  return true;
}

// What a message may begin with. What one word begins with stands behind it.
struct Word {
  enum Kind : std::uint8_t {
    Operator,   // PyTorch's own: what follows does not matter, and it is no layer, which it would cut into its calls
    PhaseCall,  // the same, but it tells the phase
    PhaseWord,  // alone, or as "forward pass", "backward()", "optimizer.step()"
    StepWord,   // with a number: "iteration 17", "step_17/100"
    LoopWord,   // with a number that is not a step's
  };
  std::string_view text;
  Kind kind;
  Phase phase = Phase::Other;
};
constexpr std::array kWords{
    Word{"aten::", Word::Operator},
    Word{"autograd::engine::evaluate_function", Word::PhaseCall, Phase::Backward},
    Word{"autograd::", Word::Operator},
    Word{"backward", Word::PhaseWord, Phase::Backward},
    Word{"batch", Word::LoopWord},
    Word{"bwd", Word::PhaseWord, Phase::Backward},
    Word{"c10::", Word::Operator},
    Word{"c10d::", Word::Operator},
    Word{"enumerate(dataloader)#", Word::Operator},
    Word{"epoch", Word::LoopWord},
    Word{"evaluation", Word::PhaseWord, Phase::Eval},
    Word{"eval", Word::PhaseWord, Phase::Eval},
    Word{"forward", Word::PhaseWord, Phase::Forward},
    Word{"fwd", Word::PhaseWord, Phase::Forward},
    Word{"inductor::", Word::Operator},
    Word{"iteration", Word::StepWord},
    Word{"iter", Word::StepWord},
    Word{"micro-batch", Word::LoopWord},
    Word{"microbatch", Word::LoopWord},
    Word{"mini-batch", Word::LoopWord},
    Word{"minibatch", Word::LoopWord},
    Word{"nccl:", Word::Operator},
    Word{"optimizer.step#", Word::PhaseCall, Phase::Optimizer},
    Word{"optimizer.zero_grad#", Word::PhaseCall, Phase::Optimizer},
    Word{"optimizer", Word::PhaseWord, Phase::Optimizer},
    Word{"optim", Word::PhaseWord, Phase::Optimizer},
    Word{"opt", Word::PhaseWord, Phase::Optimizer},
    Word{"prim::", Word::Operator},
    Word{"prims::", Word::Operator},
    Word{"profiler::", Word::Operator},
    Word{"profilerstep", Word::StepWord},
    Word{"quantized::", Word::Operator},
    Word{"sample", Word::LoopWord},
    Word{"setup", Word::PhaseWord, Phase::Setup},
    Word{"step", Word::StepWord},
    Word{"torch::", Word::Operator},
    Word{"torchvision::", Word::Operator},
    Word{"train step", Word::StepWord},
    Word{"train_step", Word::StepWord},
    Word{"training step", Word::StepWord},
    Word{"training_step", Word::StepWord},
    Word{"validation", Word::PhaseWord, Phase::Eval},
};

// Where the words of a letter begin: this is asked for every range, and most are somebody's layers.
constexpr auto kFirst = [] {
  std::array<std::uint8_t, 27> first{};
  for (std::size_t i = kWords.size(); i > 0; --i)
    first[static_cast<std::size_t>(kWords[i - 1].text[0] - 'a')] = static_cast<std::uint8_t>(i);
  // From 1, so that 0 is a letter without words; it gets the place of the next one.
  first[26] = static_cast<std::uint8_t>(kWords.size() + 1);
  for (std::size_t i = 26; i > 0; --i)
    if (first[i - 1] == 0) first[i - 1] = first[i];
  return first;
}();
static_assert(std::is_sorted(kWords.begin(), kWords.end(),
                             [](const Word& a, const Word& b) { return a.text[0] < b.text[0]; }));

// Behind a word for a phase.
bool is_phase(std::string_view rest) {
  if (!rest.empty() && is_separator(rest[0])) {
    rest.remove_prefix(1);
    if (!take(rest, "pass") && !take(rest, "step") && !take(rest, "phase")) return false;
  }
  take(rest, "()");
  return rest.empty();
}

// Behind a word that is counted.
bool is_counted(std::string_view rest, std::uint64_t& number) {
  constexpr std::size_t kMostDigits = 18;
  auto const skip_digits = [&] {
    std::size_t n = 0;
    while (n < rest.size() && is_digit(rest[n])) ++n;
    std::string_view const digits = rest.substr(0, n);
    rest.remove_prefix(n);
    return digits;
  };
  while (!rest.empty() && is_separator(rest[0])) rest.remove_prefix(1);
  std::string_view const digits = skip_digits();
  if (digits.empty() || digits.size() > kMostDigits) return false;
  number = 0;
  for (char const c : digits) number = number * 10 + static_cast<std::uint64_t>(c - '0');
  if (!rest.empty() && rest[0] == '/') {
    rest.remove_prefix(1);
    skip_digits();
  }
  return rest.empty();
}

// PyTorch's profiler writes what it knows of a call behind its name: "aten::addmm, op_id = 7, seq = 3, sizes = [[…]]".
std::string_view without_details(std::string_view message) {
  constexpr std::array<std::string_view, 4> kDetails{"seq = ", "op_id = ", "sizes = ", "input_op_ids = "};
  for (std::size_t at = message.find(", "); at != std::string_view::npos; at = message.find(", ", at + 2))
    for (std::string_view const detail : kDetails)
      if (message.substr(at + 2).starts_with(detail)) return message.substr(0, at);
  return message;
}

// "AddmmBackward0", when it has a sequence number: a node of PyTorch's backward graph.
bool is_backward_node(std::string_view name) {
  while (!name.empty() && is_digit(name.back())) name.remove_suffix(1);
  return name.ends_with("Backward");
}

}  // namespace

NvtxMeaning nvtx_meaning(std::string_view message) {
  std::string_view const name = without_details(message);
  if (name.empty()) return {};
  char const letter = lower(name[0]);
  std::size_t const place = letter >= 'a' && letter <= 'z' ? static_cast<std::size_t>(letter - 'a') : 25;
  for (std::size_t i = kFirst[place]; i < kFirst[place + 1]; ++i) {
    Word const& word = kWords[i - 1];
    std::string_view rest = name;
    if (!take(rest, word.text)) continue;
    std::uint64_t number = 0;
    switch (word.kind) {
      case Word::Operator: return {};
      case Word::PhaseCall: return {.what = NvtxMeaning::Phase, .phase = word.phase};
      case Word::PhaseWord:
        if (is_phase(rest)) return {.what = NvtxMeaning::Phase, .phase = word.phase};
        break;
      case Word::StepWord:
        if (is_counted(rest, number)) return {.what = NvtxMeaning::Step, .step = number};
        break;
      case Word::LoopWord:
        if (is_counted(rest, number)) return {};
        break;
    }
  }
  if (name.size() != message.size() && is_backward_node(name)) return {};
  return {.what = NvtxMeaning::Layer, .layer = name};
}

bool nvtx_domain_is_a_librarys(std::string_view name) {
  constexpr std::array<std::string_view, 7> kLibraries{"cccl",   "cublas",   "cudnn",   "cufft",
                                                       "curand", "cusparse", "cusolver"};
  return std::any_of(kLibraries.begin(), kLibraries.end(), [&](std::string_view library) {
    std::string_view rest = name;
    return take(rest, library) && rest.empty();
  });
}

}  // namespace tidemark::interpose
