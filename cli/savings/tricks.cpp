// SPDX-License-Identifier: Apache-2.0
#include "cli/savings/tricks.h"

#include <algorithm>
#include <array>

namespace tidemark::cli {
namespace {

using analysis::Exactness;

// Batches are those that the published trainings of these models use on one card, or near it.
constexpr std::array kModels = {
    SavingsModel{.name = "mlp",
                 .size = "large",
                 .batch = 1024,
                 .numbers = "layers=7",
                 .tiny_batch = 128,
                 .tiny_numbers = "layers=7",
                 .tiny_steps = 12},
    SavingsModel{.name = "vgg",
                 .size = "16",
                 .batch = 64,
                 .numbers = "side=224 width=64",
                 .tiny_batch = 32,
                 .tiny_numbers = "side=32 width=32",
                 .tiny_steps = 4},
    SavingsModel{.name = "resnet",
                 .size = "50",
                 .batch = 64,
                 .numbers = "side=224 width=64",
                 .tiny_batch = 32,
                 .tiny_numbers = "side=32 width=16",
                 .tiny_steps = 6},
    SavingsModel{.name = "unet",
                 .size = "full",
                 .batch = 4,
                 .numbers = "side=512 width=64",
                 .tiny_batch = 8,
                 .tiny_numbers = "side=64 width=8",
                 .tiny_steps = 6},
    SavingsModel{.name = "lstm",
                 .size = "large",
                 .batch = 64,
                 .numbers = "seq=256 layers=4",
                 .tiny_batch = 16,
                 .tiny_numbers = "seq=32 layers=2",
                 .tiny_flags = "--layers 2",
                 .tiny_steps = 12},
    SavingsModel{.name = "gru",
                 .size = "large",
                 .batch = 64,
                 .numbers = "seq=256 layers=4",
                 .tiny_batch = 16,
                 .tiny_numbers = "seq=32 layers=2",
                 .tiny_flags = "--layers 2",
                 .tiny_steps = 12},
    SavingsModel{.name = "gpt",
                 .size = "124m",
                 .batch = 4,
                 .numbers = "seq=1024 layers=12",
                 .tiny_batch = 4,
                 .tiny_numbers = "seq=64 layers=4",
                 .tiny_steps = 12},
    SavingsModel{.name = "bert",
                 .size = "base",
                 .batch = 8,
                 .numbers = "seq=512 layers=12",
                 .tiny_batch = 8,
                 .tiny_numbers = "seq=64 layers=2",
                 .tiny_steps = 8},
};

constexpr std::string_view kNormed = "resnet unet", kPictures = "vgg resnet unet", kSeries = "lstm gru gpt bert";
constexpr std::string_view kLayered = "mlp lstm gru gpt bert", kActivated = "mlp vgg resnet unet bert";
constexpr std::string_view kUnnormed = "mlp vgg lstm gru gpt bert", kAttentive = "gpt bert";
constexpr std::string_view kInattentive = "mlp vgg resnet unet lstm gru";
constexpr std::string_view kExactFlags =
    "--del-early --inplace --step-in-backward --fused --checkpoint optimal --selective";

constexpr std::array kTricks = {
    Trick{.name = "plain", .flags = "", .exactness = Exactness::Baseline, .article = Article::Knows},
    // Free: the same bits, and nothing computed twice.
    Trick{.name = "gradients set to none", .flags = "", .exactness = Exactness::Bits, .against = "--zero-grads"},
    Trick{.name = "loss freed each step", .flags = "", .exactness = Exactness::Bits, .against = "--keep-loss"},
    Trick{.name = "variables deleted early", .flags = "--del-early", .exactness = Exactness::Bits},
    Trick{.name = "activations in place",
          .flags = "--inplace",
          .exactness = Exactness::Bits,
          .models = kActivated,
          .article = Article::Knows},
    Trick{.name = "cache emptied each step", .flags = "--empty-cache", .exactness = Exactness::Bits},
    Trick{.name = "fused Adam", .flags = "--fused", .exactness = Exactness::Bits},
    Trick{.name = "step in backward", .flags = "--step-in-backward", .exactness = Exactness::Bits},
    Trick{.name = "no-grad evaluation",
          .flags = "--eval --eval-batch $batch*4 --no-grad",
          .exactness = Exactness::Bits,
          .against = "--eval --eval-batch $batch*4"},
    // For time.
    Trick{.name = "checkpoints, sqrt(N)", .flags = "--checkpoint sqrt", .exactness = Exactness::Bits},
    Trick{.name = "checkpoints, optimal", .flags = "--checkpoint optimal", .exactness = Exactness::Bits},
    Trick{.name = "selective recomputation", .flags = "--selective", .exactness = Exactness::Bits},
    Trick{.name = "efficient attention",
          .flags = "--attention efficient",
          .exactness = Exactness::Tolerance,
          .models = kAttentive,
          .tolerance = 1e-4},
    Trick{.name = "logits in chunks",
          .flags = "--ce-chunk 512",
          .exactness = Exactness::Tolerance,
          .models = kAttentive,
          .tolerance = 1e-4},
    Trick{.name = "activations on the host", .flags = "--offload", .exactness = Exactness::Bits},
    Trick{.name = "batch in 4 parts",
          .flags = "--accumulate 4",
          .exactness = Exactness::PinnedBits,
          .models = kUnnormed,
          .pinned = "--reduce-chunk 1",
          .parts = 4,
          .article = Article::Knows},
    Trick{.name = "group norm",
          .flags = "--norm gn",
          .exactness = Exactness::OtherModel,
          .models = kNormed,
          .article = Article::Knows},
    Trick{.name = "4 parts, group norm",
          .flags = "--accumulate 4",
          .exactness = Exactness::PinnedBits,
          .models = kNormed,
          .baseline = "group norm",
          .pinned = "--reduce-chunk 1",
          .parts = 4,
          .article = Article::Knows},
    Trick{.name = "4 parts, batch norm",
          .flags = "--accumulate 4",
          .exactness = Exactness::OtherModel,
          .models = kNormed,
          .parts = 4,
          .article = Article::Knows},
    // For precision.
    Trick{.name = "bf16",
          .flags = "--precision bf16",
          .exactness = Exactness::Tolerance,
          .tolerance = 0.03,
          .article = Article::Knows},
    Trick{.name = "fp16",
          .flags = "--precision fp16",
          .exactness = Exactness::Tolerance,
          .tolerance = 0.03,
          .article = Article::Knows},
    // Another training.
    Trick{.name = "8-bit Adam", .flags = "--optimizer adam8bit", .exactness = Exactness::OtherModel},
    Trick{.name = "Adafactor", .flags = "--optimizer adafactor", .exactness = Exactness::OtherModel},
    Trick{.name = "momentum",
          .flags = "--optimizer momentum",
          .exactness = Exactness::OtherModel,
          .article = Article::Knows},
    Trick{.name = "SGD", .flags = "--optimizer sgd", .exactness = Exactness::OtherModel, .article = Article::Knows},
    Trick{.name = "global average pooling",
          .flags = "--head gap",
          .exactness = Exactness::OtherModel,
          .models = "vgg",
          .article = Article::Knows},
    Trick{.name = "pooling early",
          .flags = "--pool-early",
          .exactness = Exactness::OtherModel,
          .models = "vgg",
          .article = Article::Knows},
    Trick{.name = "GRU for LSTM",
          .flags = "--model gru",
          .exactness = Exactness::OtherModel,
          .models = "lstm",
          .article = Article::Knows},
    Trick{.name = "half the layers",
          .flags = "--layers $layers/2",
          .exactness = Exactness::OtherModel,
          .models = kLayered,
          .article = Article::Knows},
    Trick{.name = "half the channels",
          .flags = "--width $width/2",
          .exactness = Exactness::OtherModel,
          .models = kPictures,
          .article = Article::Knows},
    Trick{.name = "half the sequence",
          .flags = "--seq $seq/2",
          .exactness = Exactness::OtherModel,
          .models = kSeries,
          .article = Article::Knows},
    Trick{.name = "pictures of half the side",
          .flags = "--image $side/2x$side/2",
          .exactness = Exactness::OtherModel,
          .models = kPictures,
          .article = Article::Knows},
    // Together.
    Trick{.name = "all exact tricks", .flags = kExactFlags, .exactness = Exactness::Bits},
    Trick{.name = "all, sums in other orders",
          .flags = "--attention efficient --ce-chunk 512",
          .exactness = Exactness::Tolerance,
          .models = kAttentive,
          .more = kExactFlags,
          .tolerance = 1e-4},
    Trick{.name = "all exact tricks, bf16",
          .flags = "--precision bf16",
          .exactness = Exactness::Tolerance,
          .models = kInattentive,
          .more = kExactFlags,
          .tolerance = 0.03},
    Trick{.name = "all, and bf16",
          .flags = "--precision bf16 --attention efficient --ce-chunk 512",
          .exactness = Exactness::Tolerance,
          .models = kAttentive,
          .more = kExactFlags,
          .tolerance = 0.03},
};

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t begin = 0; begin <= words.size();) {
    std::size_t const end = std::min(words.find(' ', begin), words.size());
    if (words.substr(begin, end - begin) == word) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

std::span<const SavingsModel> savings_models() {
  return kModels;
}

const SavingsModel* find_savings_model(std::string_view name) {
  auto const found =
      std::find_if(kModels.begin(), kModels.end(), [&](const SavingsModel& m) { return m.name == name; });
  return found == kModels.end() ? nullptr : &*found;
}

std::vector<const Trick*> tricks_of(const SavingsModel& model) {
  std::vector<const Trick*> all;
  for (const Trick& trick : kTricks)
    if (trick.models.empty() || has_word(trick.models, model.name)) all.push_back(&trick);
  return all;
}

const Trick* find_trick(std::string_view name) {
  auto const found = std::find_if(kTricks.begin(), kTricks.end(), [&](const Trick& t) { return t.name == name; });
  return found == kTricks.end() ? nullptr : &*found;
}

std::string_view plain_flags() {
  return "--optimizer adam";
}

}  // namespace tidemark::cli
