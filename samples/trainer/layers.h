// SPDX-License-Identifier: Apache-2.0
// Adds layers to a graph: shapes are worked out, parameters declared. The words are those of a model's table
// (models.cpp).
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "samples/trainer/graph.h"

namespace tidemark::trainer {

// A row of a table, its variables replaced: what follows the op's word.
struct LayerRow {
  std::string layer;  // the path
  std::string op;
  std::map<std::string, std::string, std::less<>> keys;
  std::vector<ValueId> inputs;
  std::size_t unit = 0;
};

class GraphMaker {
 public:
  // kind: pictures, series, disks, text or masked-text; a shape of one sample.
  Result<void> set_data(std::string_view kind, Shape shape, std::size_t classes);
  // The value that the layer makes. A layer that changes nothing (a shortcut between equal shapes) is its own input.
  Result<ValueId> add(const LayerRow& row);
  // loss: cross-entropy, mask-loss or projection. Nothing can be added after it.
  Result<Graph> finish(std::string_view loss, std::size_t unit) &&;
  ValueId input() const { return graph_.input; }

 private:
  struct NewParameter {
    const char* name;
    std::size_t elements = 0;
    std::size_t rows = 1;
    Start start = Start::Constant;
    float scale = 0;
    bool matrix = false;
  };
  ValueId value(Shape shape, Element element, bool has_gradient);
  ValueId node(const LayerRow& row, Op op, Shape out, Attributes attributes = {});
  void parameter(const NewParameter& parameter);
  Result<ValueId> linear(const LayerRow& row, const Shape& in);
  Result<ValueId> convolution(const LayerRow& row, const Shape& in);
  Result<ValueId> normalization(const LayerRow& row, const Shape& in);
  Result<ValueId> pool(const LayerRow& row, const Shape& in);
  Result<ValueId> shortcut(const LayerRow& row, const Shape& in);
  Result<ValueId> two_inputs(const LayerRow& row, const Shape& in);
  Result<ValueId> sequence(const LayerRow& row, const Shape& in);
  Result<ValueId> recurrent(const LayerRow& row, const Shape& in);

  Graph graph_;
};

}  // namespace tidemark::trainer
