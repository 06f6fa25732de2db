// SPDX-License-Identifier: Apache-2.0
#include "samples/trainer/options.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/nearest.h"

namespace tidemark::trainer {
namespace {

// Flags in the order of the help; a value's words after the flag, nothing for a switch.
struct Flag {
  std::string_view name, value, help;
};
constexpr std::array kFlags = {
    Flag{"--model", "NAME", "mlp, vgg, resnet, unet, lstm, gru, gpt or bert"},
    Flag{"--size", "SIZE", "tiny, or a published size of the model"},
    Flag{"--batch", "N", "samples of a step"},
    Flag{"--steps", "N", "updates of the parameters (10)"},
    Flag{"--lr", "X", "learning rate"},
    Flag{"--scale-lr", "none|linear|sqrt", "the rate grows with the batch over the model's own"},
    Flag{"--optimizer", "sgd|momentum|adam|adamw|adam8bit|adafactor", "(sgd)"},
    Flag{"--fused", "", "Adam's step in one pass, without a buffer as large as the parameters"},
    Flag{"--precision", "fp32|fp16|bf16", "what activations are stored in; parameters stay fp32 (fp32)"},
    Flag{"--loss-scale", "N|dynamic|off", "for fp16 (dynamic; off otherwise)"},
    Flag{"--naive-fp16", "", "fp16 without a loss scale, and the loss summed in it: to see it overflow"},
    Flag{"--checkpoint", "none|sqrt|optimal|budget:SIZE",
         "compute parts of the forward pass again instead of keeping them"},
    Flag{"--selective", "", "and what cheap ops make: norms, activations, attention, pools"},
    Flag{"--accumulate", "K", "take the batch in K parts, one after the other"},
    Flag{"--reduce-chunk", "N", "sum over N samples at a time: the same bits for any --accumulate"},
    Flag{"--norm", "bn|gn", "batch or group normalisation, in resnet and unet"},
    Flag{"--inplace", "", "activations write over their input where nobody else reads it"},
    Flag{"--keep-loss", "", "never free a step's loss, as a program that collects them"},
    Flag{"--del-early", "", "free batch, output and loss after their last use"},
    Flag{"--eval", "", "an evaluation after each step"},
    Flag{"--eval-batch", "N", "its samples (the step's)"},
    Flag{"--no-grad", "", "and nothing is kept for a backward pass"},
    Flag{"--empty-cache", "", "give cached memory back after each step"},
    Flag{"--head", "fc|gap", "of vgg: fully connected layers or the mean of each channel"},
    Flag{"--pool-early", "", "of vgg: smaller pictures after a stage's first convolution instead of its last"},
    Flag{"--step-in-backward", "", "update a parameter as soon as its gradient is whole, then free that"},
    Flag{"--offload", "", "what backward will read waits in host memory"},
    Flag{"--set-to-none", "", "free gradients after the step (so by default)"},
    Flag{"--zero-grads", "", "keep them, set to zero"},
    Flag{"--attention", "plain|efficient", "keep a number per row of scores instead of the row (plain)"},
    Flag{"--ce-chunk", "N", "make logits and their loss for N rows at a time"},
    Flag{"--seq", "N", "length of sequences"},
    Flag{"--image", "HxW", "size of pictures"},
    Flag{"--layers", "N", "of mlp, lstm, gru, gpt, bert"},
    Flag{"--width", "N", "channels: of the first convolution, or of each layer"},
    Flag{"--dropout", "X", "rate of vgg's head, of lstm's and gru's, and of gpt and bert (the model's own; 0: none)"},
    Flag{"--seed", "N", "of parameters, data and dropout (1)"},
    Flag{"--format", "text|json", "what to print: a line per step, or one line for machines at the end (text)"},
    Flag{"--help", "", "this text"},
};

using Given = std::map<std::string_view, std::string>;

Error wrong(std::string what, std::string hint = "") {
  return {Errc::InvalidArgument, std::move(what), std::move(hint)};
}

const Flag* find_flag(std::string_view name) {
  for (const Flag& flag : kFlags)
    if (flag.name == name) return &flag;
  return nullptr;
}

Result<Given> split(const std::vector<std::string>& arguments) {
  Given given;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view const word = arguments[i];
    std::size_t const equals = word.starts_with("--") ? word.find('=') : std::string_view::npos;
    std::string_view const name = word.substr(0, equals);
    const Flag* const flag = find_flag(name == "-h" ? "--help" : name);
    if (flag == nullptr) {
      std::vector<std::string_view> names;
      names.reserve(kFlags.size());
      for (const Flag& f : kFlags) names.push_back(f.name);
      std::string_view const meant = nearest(name, names, 2);
      return wrong("unknown option: " + std::string(name),
                   meant.empty() ? "tidemark-train --help lists them" : "did you mean " + std::string(meant) + "?");
    }
    std::string value;
    if (flag->value.empty()) {
      if (equals != std::string_view::npos) return wrong(std::string(name) + " takes no value");
    } else if (equals != std::string_view::npos) {
      value = word.substr(equals + 1);
    } else if (i + 1 < arguments.size()) {
      value = arguments[++i];
    } else {
      return wrong(std::string(name) + " needs a value: " + std::string(flag->value));
    }
    if (!given.emplace(flag->name, value).second) return wrong(std::string(flag->name) + " is given twice");
  }
  return given;
}

bool has(const Given& given, std::string_view name) {
  return given.contains(name);
}

// A whole number from 1 on.
Result<std::uint64_t> count(const Given& given, std::string_view name, std::uint64_t otherwise) {
  auto const at = given.find(name);
  if (at == given.end()) return otherwise;
  const std::string& text = at->second;
  std::uint64_t n = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n == 0 || n > 1u << 30)
    return wrong(std::string(name) + " is a whole number from 1 on, not '" + text + "'");
  return n;
}

Result<float> positive(const Given& given, std::string_view name, float otherwise) {
  auto const at = given.find(name);
  if (at == given.end()) return otherwise;
  char* end = nullptr;
  float const x = std::strtof(at->second.c_str(), &end);
  if (end == at->second.c_str() || *end != 0 || !std::isfinite(x) || x <= 0)
    return wrong(std::string(name) + " is a number above 0, not '" + at->second + "'");
  return x;
}

// The index of the given word among the flag's own, "a|b|c".
Result<std::size_t> choice(const Given& given, std::string_view name, std::size_t otherwise) {
  auto const at = given.find(name);
  if (at == given.end()) return otherwise;
  std::string_view words = find_flag(name)->value;
  for (std::size_t i = 0;; ++i) {
    std::size_t const bar = words.find('|');
    if (words.substr(0, bar) == at->second) return i;
    if (bar == std::string_view::npos) break;
    words.remove_prefix(bar + 1);
  }
  return wrong(std::string(name) + " is one of " + std::string(find_flag(name)->value) + ", not '" + at->second + "'");
}

// Flags that change a variable of the model's table.
Result<bool> read_shape(const Given& given, Options& options) {
  Variables& variables = options.model.variables;
  auto const lacks = [&](std::string_view flag) {
    return wrong(std::string(flag) + " does not apply to the model " + std::string(options.model.model));
  };
  for (auto const& [flag, variable] : {std::pair{"--seq", "seq"}, std::pair{"--layers", "layers"},
                                       std::pair{"--width", variables.contains("channels") ? "channels" : "width"}}) {
    if (!has(given, flag)) continue;
    if (!variables.contains(variable)) return lacks(flag);
    TIDEMARK_TRY(auto const n, count(given, flag, 1));
    variables[variable] = std::to_string(n);
  }
  for (auto const& [flag, variable] : {std::pair{"--norm", "norm"}, std::pair{"--head", "head"}}) {
    if (!has(given, flag)) continue;
    if (!variables.contains(variable)) return lacks(flag);
    TIDEMARK_TRY(auto const index, choice(given, flag, 0));
    (void)index;
    variables[variable] = given.at(flag);
  }
  if (has(given, "--dropout")) {
    if (!variables.contains("dropout")) return lacks("--dropout");
    const std::string& text = given.at("--dropout");
    char* end = nullptr;
    float const rate = std::strtof(text.c_str(), &end);
    if (text.empty() || *end != 0 || !(rate >= 0 && rate < 1))
      return wrong("--dropout is a number from 0 to less than 1, not '" + text + "'");
    variables["dropout"] = text;
  }
  if (has(given, "--pool-early")) {
    if (!variables.contains("pool")) return lacks("--pool-early");
    variables["pool"] = "early";
  }
  if (has(given, "--image")) {
    if (!variables.contains("height")) return lacks("--image");
    const std::string& text = given.at("--image");
    std::size_t const cross = text.find('x');
    Given const sides{{"height", text.substr(0, cross)},
                      {"width", cross == std::string::npos ? "" : text.substr(cross + 1)}};
    for (std::string_view const side : {"height", "width"}) {
      auto const n = count(sides, side, 0);
      if (!n) return wrong("--image is written HEIGHTxWIDTH, not '" + text + "'");
      variables.insert_or_assign(std::string(side), std::to_string(*n));
    }
  }
  return true;
}

Result<bool> read_precision(const Given& given, Options& options) {
  TIDEMARK_TRY(auto const type, choice(given, "--precision", 0));
  options.choices.type = static_cast<Type>(type);
  bool const half = options.choices.type == Type::F16, naive = has(given, "--naive-fp16");
  auto const scale = given.find("--loss-scale");
  if (naive && !half) return wrong("--naive-fp16 is about --precision fp16");
  if (naive && scale != given.end()) return wrong("--naive-fp16 has no loss scale: it excludes --loss-scale");
  options.choices.naive_sums = naive;
  std::string const text = scale != given.end() ? scale->second : half && !naive ? "dynamic" : "off";
  if (text == "dynamic") {
    options.dynamic_scale = true;
    options.settings.loss_scale = 65536;
  } else if (text != "off") {
    auto const fixed = positive(given, "--loss-scale", 1);
    if (!fixed) return wrong("--loss-scale is a number above 0, dynamic or off, not '" + text + "'");
    options.settings.loss_scale = *fixed;
  }
  options.choices.check_finite = options.dynamic_scale;
  return true;
}

Result<bool> read_learning(const Given& given, Options& options) {
  TIDEMARK_TRY(auto const optimizer, choice(given, "--optimizer", 0));
  options.choices.optimizer = static_cast<Optimizer>(optimizer);
  bool const adam = options.choices.optimizer >= Optimizer::Adam;
  TIDEMARK_TRY(options.settings.rate, positive(given, "--lr", adam ? 1e-3f : 1e-2f));
  TIDEMARK_TRY(auto const law, choice(given, "--scale-lr", 0));
  float const growth = static_cast<float>(options.choices.batch) / static_cast<float>(options.model.batch);
  if (law == 1) options.settings.rate *= growth;
  if (law == 2) options.settings.rate *= std::sqrt(growth);
  if (options.choices.optimizer == Optimizer::AdamW) options.settings.weight_decay = 0.01f;
  options.choices.fused = has(given, "--fused");
  return true;
}

Result<bool> read_checkpoint(const Given& given, Choices& choices) {
  choices.selective = has(given, "--selective");
  auto const at = given.find("--checkpoint");
  if (at == given.end()) return true;
  constexpr std::string_view kBudget = "budget:";
  if (at->second.starts_with(kBudget)) {
    auto const size = parse_bytes(std::string_view(at->second).substr(kBudget.size()));
    if (!size || size->n == 0)
      return wrong("--checkpoint " + at->second + ": a size is written 6GiB, 512MiB or in bytes");
    choices.checkpoint = Checkpoint::Budget;
    choices.budget_bytes = size->n;
    return true;
  }
  if (at->second == "budget") return wrong("--checkpoint budget needs a size: budget:6GiB");
  TIDEMARK_TRY(auto const index, choice(given, "--checkpoint", 0));
  choices.checkpoint = static_cast<Checkpoint>(index);
  return true;
}

Result<bool> check_together(const Given& given, const Options& options) {
  const Choices& c = options.choices;
  if (c.batch % c.accumulate != 0)
    return wrong("--batch " + std::to_string(c.batch) + " cannot be taken in " + std::to_string(c.accumulate) +
                 " equal parts");
  if (c.chunk != 0 && (c.batch / c.accumulate) % c.chunk != 0)
    return wrong("--reduce-chunk " + std::to_string(c.chunk) + " does not divide the " +
                 std::to_string(c.batch / c.accumulate) + " samples of a part");
  if (c.accumulate > 4096) return wrong("--accumulate takes at most 4096 parts");
  if (has(given, "--set-to-none") && c.zero_gradients)
    return wrong("--set-to-none and --zero-grads exclude each other");
  if (c.step_in_backward && c.accumulate > 1)
    return wrong("--step-in-backward needs whole gradients: it excludes --accumulate");
  if (c.step_in_backward && c.check_finite)
    return wrong("--step-in-backward cannot skip a step whose gradients overflow",
                 "a fixed --loss-scale, or --precision bf16");
  if (c.step_in_backward && c.zero_gradients)
    return wrong("--step-in-backward frees gradients at once: it excludes --zero-grads");
  if (c.fused && !is_in_passes(c.optimizer, false)) return wrong("--fused is about --optimizer adam and adamw");
  if (options.efficient_attention && options.model.model != "gpt" && options.model.model != "bert")
    return wrong("--attention efficient does not apply to the model " + std::string(options.model.model));
  for (std::string_view const flag : {"--no-grad", "--eval-batch"})
    if (has(given, flag) && !options.evaluate) return wrong(std::string(flag) + " needs --eval");
  return true;
}

}  // namespace

Result<Graph> make_graph(const Options& options) {
  TIDEMARK_TRY(Graph graph, read_model(options.model.text, options.model.variables));
  if (options.efficient_attention) use_efficient_attention(graph);
  if (options.loss_rows > 0)
    if (auto const fused = fuse_cross_entropy(graph, options.loss_rows); !fused) return fused.error();
  return graph;
}

Result<Options> read_options(const std::vector<std::string>& arguments) {
  TIDEMARK_TRY(Given const given, split(arguments));
  Options options;
  if (has(given, "--help")) {
    options.help = true;
    return options;
  }
  if (!has(given, "--model")) return wrong("no --model", "tidemark-train --model mlp");
  TIDEMARK_TRY(options.model, find_model(given.at("--model"), has(given, "--size") ? given.at("--size") : ""));
  TIDEMARK_TRY(bool const shape, read_shape(given, options));
  Choices& c = options.choices;
  TIDEMARK_TRY(c.batch, count(given, "--batch", options.model.batch));
  TIDEMARK_TRY(c.accumulate, count(given, "--accumulate", 1));
  TIDEMARK_TRY(c.chunk, count(given, "--reduce-chunk", 0));
  TIDEMARK_TRY(options.steps, count(given, "--steps", 10));
  TIDEMARK_TRY(options.settings.seed, count(given, "--seed", 1));
  TIDEMARK_TRY(bool const precision, read_precision(given, options));
  TIDEMARK_TRY(bool const learning, read_learning(given, options));
  TIDEMARK_TRY(bool const checkpoint, read_checkpoint(given, c));
  TIDEMARK_TRY(auto const attention, choice(given, "--attention", 0));
  options.efficient_attention = attention == 1;
  TIDEMARK_TRY(options.loss_rows, count(given, "--ce-chunk", 0));
  TIDEMARK_TRY(auto const format, choice(given, "--format", 0));
  options.json = format == 1;
  c.in_place = has(given, "--inplace");
  c.delete_early = has(given, "--del-early");
  c.keep_loss = has(given, "--keep-loss");
  c.zero_gradients = has(given, "--zero-grads");
  c.step_in_backward = has(given, "--step-in-backward");
  c.offload = has(given, "--offload");
  options.empty_cache = has(given, "--empty-cache");
  options.evaluate = has(given, "--eval");
  TIDEMARK_TRY(options.evaluation.batch, count(given, "--eval-batch", c.batch));
  options.evaluation.no_grad = has(given, "--no-grad");
  TIDEMARK_TRY(bool const together, check_together(given, options));
  (void)shape, (void)precision, (void)learning, (void)checkpoint, (void)together;
  return options;
}

std::string usage() {
  std::string text =
      "usage: tidemark-train --model NAME [options]\n"
      "Trains a network on data it draws itself, on the CUDA device, and says what memory it took.\n\n";
  for (const Flag& flag : kFlags) {
    std::string left = "  " + std::string(flag.name) + (flag.value.empty() ? "" : " " + std::string(flag.value));
    left.resize(std::max<std::size_t>(left.size() + 2, 40), ' ');
    text += left + std::string(flag.help) + "\n";
  }
  text += "\nsizes:\n";
  for (std::string_view const model : model_names()) {
    text += "  " + std::string(model) + ":";
    for (std::string_view const size : sizes_of(model)) text += " " + std::string(size);
    text += "\n";
  }
  return text;
}

}  // namespace tidemark::trainer
