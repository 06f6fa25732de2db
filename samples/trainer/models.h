// SPDX-License-Identifier: Apache-2.0
// The models, as tables of layers in text (models.cpp), and the reader of such tables.
//
//   data pictures channels height width classes=N     also: series, disks, text, masked-text
//   name op key=value ... <- value value               a layer; its input is the row before, or what is named
//   name block xN key=value                            a block of rows, N times, one after the other
//   block name key key=default ... end                 its rows; `in` is its input
//   ?key=value ...                                     a row for one value of a variable alone
//   loss cross-entropy                                 the last row
// $key is a variable's or the block's value; products and quotients are written $width*4. Of a list a,b the first
// repetition takes a, the others b.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "samples/trainer/graph.h"

namespace tidemark::trainer {

using Variables = std::map<std::string, std::string, std::less<>>;

Result<Graph> read_model(std::string_view text, const Variables& variables);

// A model in one of its sizes, with the variables that the size sets.
struct ModelSize {
  std::string_view model, size;
  std::string_view text;
  Variables variables;
  std::size_t batch = 0;  // where none is given
};
std::vector<std::string_view> model_names();
std::vector<std::string_view> sizes_of(std::string_view model);
Result<ModelSize> find_model(std::string_view model, std::string_view size);

}  // namespace tidemark::trainer
