// SPDX-License-Identifier: Apache-2.0
#include "samples/trainer/options.h"

#include <gtest/gtest.h>

#include <sstream>

namespace tidemark::trainer {
namespace {

Result<Options> read(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return read_options(words);
}
std::string error_of(const std::string& line) {
  auto const options = read(line);
  return options ? "" : options.error().what;
}

TEST(Options, DefaultsAreTheModelsTinySize) {
  auto const options = read("--model resnet");
  ASSERT_TRUE(options);
  EXPECT_EQ(options->model.size, "tiny");
  EXPECT_EQ(options->choices.batch, 32u);
  EXPECT_EQ(options->choices.optimizer, Optimizer::Sgd);
  EXPECT_FALSE(options->choices.check_finite);
}

TEST(Options, AllFlagsAreRead) {
  auto const options = read(
      "--model=gpt --size 124m --batch 8 --steps 3 --lr 0.5 --optimizer adamw --fused --precision fp16 --loss-scale 64 "
      "--checkpoint sqrt --accumulate 4 --reduce-chunk 2 --inplace --keep-loss --del-early --eval --eval-batch 2 "
      "--no-grad --empty-cache --zero-grads --seq 128 --layers 2 --width 96 --seed 9");
  ASSERT_TRUE(options) << options.error().what;
  const Choices& c = options->choices;
  EXPECT_EQ(c.batch, 8u);
  EXPECT_EQ(c.accumulate, 4u);
  EXPECT_EQ(c.chunk, 2u);
  EXPECT_EQ(c.type, Type::F16);
  EXPECT_EQ(c.optimizer, Optimizer::AdamW);
  EXPECT_EQ(c.checkpoint, Checkpoint::Sqrt);
  EXPECT_TRUE(c.fused && c.in_place && c.keep_loss && c.delete_early && c.zero_gradients);
  EXPECT_FALSE(c.check_finite);
  EXPECT_EQ(options->settings.loss_scale, 64);
  EXPECT_EQ(options->settings.rate, 0.5f);
  EXPECT_EQ(options->settings.seed, 9u);
  EXPECT_EQ(options->steps, 3u);
  EXPECT_EQ(options->evaluation.batch, 2u);
  EXPECT_TRUE(options->evaluate && options->evaluation.no_grad && options->empty_cache);
  EXPECT_EQ(options->model.variables.at("seq"), "128");
  EXPECT_EQ(options->model.variables.at("width"), "96");
}

TEST(Options, TricksThatChangeOpsChangeTheGraph) {
  auto const options =
      read("--model gpt --attention efficient --ce-chunk 64 --selective --checkpoint budget:1.5MiB --format json");
  ASSERT_TRUE(options) << options.error().what;
  EXPECT_EQ(options->choices.checkpoint, Checkpoint::Budget);
  EXPECT_EQ(options->choices.budget_bytes, 1572864u);
  EXPECT_TRUE(options->choices.selective && options->json);
  auto const graph = make_graph(*options);
  ASSERT_TRUE(graph) << graph.error().what;
  EXPECT_EQ(graph->nodes.back().op, Op::ChunkedCrossEntropy);
  EXPECT_EQ(graph->nodes.back().attributes.row_chunk, 64u);
  EXPECT_EQ(graph->nodes.back().attributes.classes, 512u);
  EXPECT_EQ(graph->parameter_elements(), 867072u);
  for (const Node& node : graph->nodes) EXPECT_EQ(node.attributes.efficient, node.op == Op::Attention);
}

TEST(Options, NaiveFp16HasNoScaleAndNoCheck) {
  auto const options = read("--model mlp --precision fp16 --naive-fp16");
  ASSERT_TRUE(options) << options.error().what;
  EXPECT_TRUE(options->choices.naive_sums);
  EXPECT_FALSE(options->choices.check_finite);
  EXPECT_EQ(options->settings.loss_scale, 1);
}

TEST(Options, TheRateGrowsWithTheBatch) {
  EXPECT_EQ(read("--model mlp --batch 512 --lr 1 --scale-lr linear")->settings.rate, 4);
  EXPECT_EQ(read("--model mlp --batch 512 --lr 1 --scale-lr sqrt")->settings.rate, 2);
  EXPECT_EQ(read("--model mlp --batch 512 --lr 1")->settings.rate, 1);
}

TEST(Options, Fp16ScalesTheLossUnlessToldNotTo) {
  EXPECT_TRUE(read("--model mlp --precision fp16")->choices.check_finite);
  EXPECT_FALSE(read("--model mlp --precision fp16 --loss-scale off")->choices.check_finite);
  EXPECT_FALSE(read("--model mlp --precision bf16")->choices.check_finite);
}

TEST(Options, MistakesAreNamed) {
  EXPECT_EQ(error_of(""), "no --model");
  EXPECT_EQ(error_of("--model mpl"), "no model 'mpl'");
  EXPECT_EQ(read("--model mpl").error().hint, "did you mean mlp?");
  EXPECT_EQ(error_of("--model resnet --size 99"), "no size of resnet '99'");
  EXPECT_EQ(error_of("--model mlp --bach 3"), "unknown option: --bach");
  EXPECT_EQ(read("--model mlp --bach 3").error().hint, "did you mean --batch?");
  EXPECT_EQ(error_of("--model mlp --batch 0"), "--batch is a whole number from 1 on, not '0'");
  EXPECT_EQ(error_of("--model mlp --batch 4x"), "--batch is a whole number from 1 on, not '4x'");
  EXPECT_EQ(error_of("--model mlp --batch"), "--batch needs a value: N");
  EXPECT_EQ(error_of("--model mlp --batch 1 --batch 2"), "--batch is given twice");
  EXPECT_EQ(error_of("--model mlp --inplace=yes"), "--inplace takes no value");
  EXPECT_EQ(error_of("--model mlp --lr -1"), "--lr is a number above 0, not '-1'");
  EXPECT_EQ(error_of("--model mlp --optimizer lion"),
            "--optimizer is one of sgd|momentum|adam|adamw|adam8bit|adafactor, not 'lion'");
  EXPECT_EQ(error_of("--model mlp --ce-chunk 0"), "--ce-chunk is a whole number from 1 on, not '0'");
  EXPECT_EQ(error_of("--model mlp --checkpoint budget"), "--checkpoint budget needs a size: budget:6GiB");
  EXPECT_EQ(error_of("--model mlp --checkpoint budget:x"),
            "--checkpoint budget:x: a size is written 6GiB, 512MiB or in bytes");
  EXPECT_EQ(error_of("--model mlp --checkpoint budget:0"),
            "--checkpoint budget:0: a size is written 6GiB, 512MiB or in bytes");
  EXPECT_EQ(error_of("--model mlp --checkpoint often"),
            "--checkpoint is one of none|sqrt|optimal|budget:SIZE, not 'often'");
  EXPECT_EQ(error_of("--model gpt --dropout 1"), "--dropout is a number from 0 to less than 1, not '1'");
  EXPECT_EQ(error_of("--model unet --dropout 0.1"), "--dropout does not apply to the model unet");
  EXPECT_EQ(read("--model gpt --dropout 0.25")->model.variables.at("dropout"), "0.25");
  EXPECT_EQ(error_of("--model gpt --attention flash"), "--attention is one of plain|efficient, not 'flash'");
  EXPECT_EQ(error_of("--model mlp --loss-scale big"), "--loss-scale is a number above 0, dynamic or off, not 'big'");
  EXPECT_EQ(error_of("--model vgg --image 12"), "--image is written HEIGHTxWIDTH, not '12'");
}

TEST(Options, WhatDoesNotFitTogetherIsRefused) {
  EXPECT_EQ(error_of("--model mlp --batch 10 --accumulate 3"), "--batch 10 cannot be taken in 3 equal parts");
  EXPECT_EQ(error_of("--model mlp --batch 12 --accumulate 3 --reduce-chunk 3"),
            "--reduce-chunk 3 does not divide the 4 samples of a part");
  EXPECT_EQ(error_of("--model mlp --set-to-none --zero-grads"), "--set-to-none and --zero-grads exclude each other");
  EXPECT_EQ(error_of("--model mlp --step-in-backward --accumulate 2"),
            "--step-in-backward needs whole gradients: it excludes --accumulate");
  EXPECT_EQ(error_of("--model mlp --step-in-backward --precision fp16"),
            "--step-in-backward cannot skip a step whose gradients overflow");
  EXPECT_EQ(error_of("--model mlp --attention efficient"), "--attention efficient does not apply to the model mlp");
  EXPECT_EQ(error_of("--model mlp --naive-fp16"), "--naive-fp16 is about --precision fp16");
  EXPECT_EQ(error_of("--model mlp --precision fp16 --naive-fp16 --loss-scale 8"),
            "--naive-fp16 has no loss scale: it excludes --loss-scale");
  EXPECT_EQ(make_graph(*read("--model unet --ce-chunk 4")).error().what,
            "--ce-chunk is about a linear layer with cross-entropy, which this model does not end with");
  EXPECT_EQ(error_of("--model mlp --fused"), "--fused is about --optimizer adam and adamw");
  EXPECT_EQ(error_of("--model mlp --no-grad"), "--no-grad needs --eval");
  EXPECT_EQ(error_of("--model mlp --norm gn"), "--norm does not apply to the model mlp");
  EXPECT_EQ(error_of("--model vgg --seq 3"), "--seq does not apply to the model vgg");
}

TEST(Options, HelpNamesEveryModelAndSize) {
  std::string const text = usage();
  for (std::string_view const name : model_names()) {
    EXPECT_NE(text.find(name), std::string::npos);
    for (std::string_view const size : sizes_of(name)) EXPECT_NE(text.find(size), std::string::npos);
  }
  EXPECT_TRUE(read("--help")->help);
}

// ---- tables
// ----------------------------------------------------------------------------------------------------------

std::string table_error(std::string_view table, const Variables& variables = {}) {
  auto const graph = read_model(table, variables);
  return graph ? "" : graph.error().what;
}

TEST(Table, EverySizeCanBeRead) {
  for (std::string_view const name : model_names())
    for (std::string_view const size : sizes_of(name)) {
      auto const found = find_model(name, size);
      auto const graph = read_model(found->text, found->variables);
      EXPECT_TRUE(graph) << name << " " << size << ": " << graph.error().what;
    }
}

TEST(Table, MistakesNameTheLineOrTheLayer) {
  EXPECT_EQ(table_error("a linear out=2\n"), "the model's line 1: a layer before the data");
  EXPECT_EQ(table_error("data series 2 3 classes=2\na linear out=2\n"), "the model's last row must be its loss");
  EXPECT_EQ(table_error("data series 2 3 classes=2\na liner out=2\nloss projection\n"), "a (liner): no such layer");
  EXPECT_EQ(table_error("data series 2 3 classes=2\na linear out=$w\nloss projection\n"),
            "the model's line 2: no variable $w");
  EXPECT_EQ(table_error("data series 2 3 classes=2\na linear out=4\nb add <- a c\nloss projection\n"),
            "the model's line 3: no value c");
  EXPECT_EQ(table_error("data series 2 3 classes=2\na linear out=4\nb linear out=5\nc add <- a b\nloss projection\n"),
            "c (add): cannot add 2x5 to 2x4");
  EXPECT_EQ(table_error("data pictures 1 4 4 classes=2\na conv out=2 size=7\nloss projection\n"),
            "a (conv): its window does not fit pictures of 1x4x4");
  EXPECT_EQ(table_error("data pictures 1 4 4 classes=2\na linear out=3\nloss cross-entropy\n"),
            "loss (cross-entropy): 3 for 2 classes");
  EXPECT_EQ(table_error("data series 2 3 classes=2\na attention heads=2\nloss projection\n"),
            "a (attention): 3 channels are not query, key and value of 2 heads");
}

TEST(Table, BlocksRepeatWithTheFirstOfAList) {
  auto const graph = read_model(
      "data pictures 1 8 8 classes=2\nblock b out stride\n  c conv out=$out*2 stride=$stride\nend\n"
      "s b x3 out=3 stride=2,1\nloss projection\n",
      {});
  ASSERT_TRUE(graph) << graph.error().what;
  ASSERT_EQ(graph->nodes.size(), 4u);
  EXPECT_EQ(graph->nodes[0].layer, "s.0.c");
  EXPECT_EQ(graph->nodes[2].layer, "s.2.c");
  EXPECT_EQ(graph->values[graph->output].shape.text(), "6x4x4");
  EXPECT_EQ(graph->nodes[2].unit, 2u);
}

}  // namespace
}  // namespace tidemark::trainer
