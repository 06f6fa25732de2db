// SPDX-License-Identifier: Apache-2.0
// A command's arguments: declared once, from which parsing, errors and --help follow.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace tidemark::cli {

class Arguments {
 public:
  // `examples`: whole lines of text, shown at the end of --help.
  Arguments(std::string_view command, std::string_view summary, std::string_view examples);
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  ~Arguments();

  struct Option {
    const char* names;  // "-o,--output"
    const char* value;  // what stands for its value in --help
    const char* help;
    std::vector<std::string> choices = {};
  };
  void positional(std::vector<std::string>& into, const char* name, const char* help);
  void option(std::string& into, const Option& option);
  void option(std::optional<std::uint64_t>& into, const Option& option);
  void flag(bool& into, const char* names, const char* help);

  // True: go on; false: help was asked for and has been given.
  Result<bool> parse(Words words);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace tidemark::cli
