// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <optional>
#include <sstream>

#include "samples/trainer/layers.h"
#include "samples/trainer/models.h"

namespace tidemark::trainer {
namespace {

using Words = std::vector<std::string>;

struct Line {
  std::size_t number = 0;
  Words words;
};
struct Block {
  Words keys;  // "key" or "key=default"
  std::vector<Line> lines;
};

Error wrong(const Line& line, const std::string& what) {
  return {Errc::InvalidArgument, "the model's line " + std::to_string(line.number) + ": " + what, ""};
}

std::optional<std::size_t> whole_number(std::string_view text) {
  std::size_t n = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

class Reader {
 public:
  explicit Reader(const Variables& variables) : variables_(variables) {}

  Result<Graph> read(std::string_view text) {
    TIDEMARK_TRY(std::vector<Line> const lines, split(text));
    Scope scope{.variables = variables_};
    for (const Line& line : lines) {
      if (!holds(line, scope)) continue;
      if (line.words[0] == "data") {
        TIDEMARK_TRY(bool const done, data(line, scope));
        (void)done;
      } else if (line.words[0] == "loss") {
        if (line.words.size() != 2) return wrong(line, "loss takes one word");
        return std::move(maker_).finish(line.words[1], unit_);
      } else {
        TIDEMARK_TRY(bool const done, row(line, scope, true));
        (void)done;
      }
    }
    return Error{Errc::InvalidArgument, "the model's last row must be its loss", ""};
  }

 private:
  struct Scope {
    std::string path;  // with a dot at its end, or empty
    Variables variables;
    std::map<std::string, ValueId, std::less<>> values;
    ValueId last = kNone;
  };

  // Blocks are put aside; what is left is the table itself.
  Result<std::vector<Line>> split(std::string_view text) {
    std::vector<Line> rows;
    Block* open = nullptr;
    std::istringstream stream{std::string(text)};
    std::string all;
    for (std::size_t number = 1; std::getline(stream, all); ++number) {
      std::istringstream words(all.substr(0, all.find('#')));
      Line line{.number = number};
      for (std::string word; words >> word;) line.words.push_back(word);
      if (line.words.empty()) continue;
      if (line.words[0] == "block") {
        if (open != nullptr || line.words.size() < 2) return wrong(line, "a block inside a block, or without a name");
        open = &blocks_[line.words[1]];
        open->keys.assign(line.words.begin() + 2, line.words.end());
      } else if (line.words[0] == "end") {
        open = nullptr;
      } else {
        (open != nullptr ? open->lines : rows).push_back(std::move(line));
      }
    }
    return rows;
  }

  // "?key=value" in front of a row.
  static bool holds(const Line& line, const Scope& scope) {
    if (line.words[0][0] != '?') return true;
    std::size_t const equals = line.words[0].find('=');
    auto const at = scope.variables.find(line.words[0].substr(1, equals - 1));
    return at != scope.variables.end() && at->second == line.words[0].substr(equals + 1);
  }

  // $key, a number, or a word; products and quotients from left to right.
  Result<std::string> evaluate(const Line& line, std::string_view text, const Scope& scope) {
    std::optional<std::size_t> result;
    char op = '*';
    for (std::size_t at = 0; at <= text.size();) {
      std::size_t const end = std::min(text.find_first_of("*/", at), text.size());
      std::string term(text.substr(at, end - at));
      if (term.starts_with('$')) {
        auto const variable = scope.variables.find(std::string_view(term).substr(1));
        if (variable == scope.variables.end()) return wrong(line, "no variable " + term);
        term = variable->second;
      }
      if (at == 0 && end == text.size()) return term;
      auto const n = whole_number(term);
      if (!n || (op == '/' && *n == 0)) return wrong(line, "cannot compute " + std::string(text));
      result = !result ? *n : op == '*' ? *result * *n : *result / *n;
      if (end == text.size()) break;
      op = text[end];
      at = end + 1;
    }
    return std::to_string(result.value_or(0));
  }
  Result<std::size_t> count(const Line& line, std::string_view text, const Scope& scope) {
    TIDEMARK_TRY(std::string const value, evaluate(line, text, scope));
    auto const n = whole_number(value);
    if (!n) return wrong(line, std::string(text) + " is not a whole number");
    return *n;
  }

  Result<bool> data(const Line& line, const Scope& scope) {
    Shape shape;
    std::size_t classes = 0;
    if (line.words.size() < 3) return wrong(line, "data: kind, sizes, classes=N");
    for (std::size_t i = 2; i < line.words.size(); ++i) {
      const std::string& word = line.words[i];
      if (word.starts_with("classes=")) {
        TIDEMARK_TRY(classes, count(line, std::string_view(word).substr(8), scope));
      } else {
        if (shape.rank == 3) return wrong(line, "more than three sizes");
        TIDEMARK_TRY(shape.size[shape.rank++], count(line, word, scope));
      }
    }
    auto const set = maker_.set_data(line.words[1], shape, classes);
    if (!set) return set.error();
    return true;
  }

  // name op|block [xN] [key=value ...] [<- value ...]
  Result<bool> row(const Line& line, Scope& scope, bool counts) {
    if (scope.last == kNone) scope.last = maker_.input();
    if (scope.last == kNone) return wrong(line, "a layer before the data");
    std::size_t const begin = line.words[0][0] == '?' ? 1 : 0;
    if (line.words.size() < begin + 2) return wrong(line, "a row has a name and a layer");
    const std::string &name = line.words[begin], &op = line.words[begin + 1];
    std::size_t repeat = 1;
    bool repeated = false;
    std::vector<ValueId> inputs;
    std::map<std::string, std::string, std::less<>> keys;
    for (std::size_t i = begin + 2; i < line.words.size(); ++i) {
      const std::string& word = line.words[i];
      std::size_t const equals = word.find('=');
      if (word == "<-") {
        for (++i; i < line.words.size(); ++i) {
          auto const value = scope.values.find(line.words[i]);
          if (value == scope.values.end()) return wrong(line, "no value " + line.words[i]);
          inputs.push_back(value->second);
        }
      } else if (equals != std::string::npos) {
        keys[word.substr(0, equals)] = word.substr(equals + 1);
      } else if (word[0] == 'x') {
        TIDEMARK_TRY(repeat, count(line, std::string_view(word).substr(1), scope));
        repeated = true;
      } else {
        return wrong(line, "cannot read " + word);
      }
    }
    if (inputs.empty()) inputs = {scope.last};
    for (std::size_t r = 0; r < repeat; ++r) {
      std::string const path = scope.path + name + (repeated ? "." + std::to_string(r) : "");
      Variables values;
      for (auto const& [key, list] : keys) {
        std::size_t const comma = list.find(',');
        std::string_view const chosen = comma == std::string::npos ? std::string_view(list)
                                        : r == 0                   ? std::string_view(list).substr(0, comma)
                                                                   : std::string_view(list).substr(comma + 1);
        TIDEMARK_TRY(values[key], evaluate(line, chosen, scope));
      }
      auto const block = blocks_.find(op);
      Result<ValueId> made =
          block == blocks_.end()
              ? maker_.add({.layer = path, .op = op, .keys = values, .inputs = inputs, .unit = unit_})
              : expand(line, block->second, path, values, scope, inputs);
      if (!made) return made.error();
      inputs = {*made};
      if (counts) ++unit_;
    }
    scope.last = inputs[0];
    scope.values[name] = scope.last;
    return true;
  }

  Result<ValueId> expand(const Line& line, const Block& block, const std::string& path, const Variables& values,
                         const Scope& outer, const std::vector<ValueId>& inputs) {
    Scope scope{.path = path + ".", .variables = outer.variables, .last = inputs[0]};
    scope.values["in"] = inputs[0];
    if (inputs.size() > 1) scope.values["in2"] = inputs[1];
    for (const std::string& key : block.keys) {
      std::size_t const equals = key.find('=');
      std::string const word = key.substr(0, equals);
      auto const given = values.find(word);
      if (given == values.end() && equals == std::string::npos) return wrong(line, "the block needs " + word + "=");
      scope.variables[word] = given != values.end() ? given->second : key.substr(equals + 1);
    }
    for (const Line& inner : block.lines) {
      if (!holds(inner, scope)) continue;
      TIDEMARK_TRY(bool const done, row(inner, scope, false));
      (void)done;
    }
    return scope.last;
  }

  const Variables& variables_;
  std::map<std::string, Block, std::less<>> blocks_;
  GraphMaker maker_;
  std::size_t unit_ = 0;
};

}  // namespace

Result<Graph> read_model(std::string_view text, const Variables& variables) {
  return Reader(variables).read(text);
}

}  // namespace tidemark::trainer
