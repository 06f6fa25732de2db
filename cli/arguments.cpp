// SPDX-License-Identifier: Apache-2.0
// The only file that knows the library behind it: its header takes seconds to compile.
#include "cli/arguments.h"

#include <CLI/CLI.hpp>
#include <charconv>

#include "cli/output.h"

namespace tidemark::cli {

struct Arguments::Parser {
  CLI::App app;
  std::string command;
  std::string positional;  // what it is, for whoever left it out

  // The library's own sentences are about its options; these are about what was typed.
  std::string in_words(const CLI::Error& error, Words words) const {
    if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !positional.empty())
      return "no " + positional + " were given";
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && !words.empty())
      if (const CLI::Option* const option = app.get_option_no_throw(words.back()))
        return std::string(words.back()) + ": " + option->get_type_name() + " is missing";
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return "not understood: " + extras();
    return error.what();
  }
  std::string extras() const { return CLI::detail::join(app.remaining(), " "); }
};

Arguments::Arguments(std::string_view command, std::string_view summary, std::string_view examples)
    : parser_(std::make_unique<Parser>()) {
  parser_->command = command;
  CLI::App& app = parser_->app;
  app.name("tidemark " + std::string(command));
  app.description(std::string(summary));
  app.footer("\nExamples:\n" + std::string(examples));
  app.get_formatter()->column_width(32);
  app.set_help_flag("-h,--help", "print this text");
}

Arguments::~Arguments() = default;

void Arguments::positional(std::vector<std::string>& into, const char* name, const char* help) {
  parser_->app.add_option(name, into, help)->required()->type_name("");
  parser_->positional = help;
}

void Arguments::option(std::string& into, const Option& o) {
  CLI::Option* const added = parser_->app.add_option(o.names, into, o.help)->type_name(o.value);
  if (o.choices.empty()) return;
  added->check(CLI::Validator(
      [choices = o.choices](std::string& given) {
        if (std::find(choices.begin(), choices.end(), given) != choices.end()) return std::string();
        return "'" + given + "' is none of " + CLI::detail::join(choices, ", ");
      },
      ""));
}

void Arguments::option(std::optional<std::uint64_t>& into, const Option& o) {
  // The library would take -1, and what is too large, as the largest number there is.
  auto const whole = [](std::string& given) {
    std::uint64_t value = 0;
    const char* const end = given.data() + given.size();
    auto const [stop, failure] = std::from_chars(given.data(), end, value);
    return failure == std::errc{} && stop == end ? std::string() : "'" + given + "' is not a whole number";
  };
  parser_->app.add_option(o.names, into, o.help)->type_name(o.value)->check(CLI::Validator(whole, ""));
}

void Arguments::flag(bool& into, const char* names, const char* help) {
  parser_->app.add_flag(names, into, help);
}

Result<bool> Arguments::parse(Words words) {
  // The library takes them from the back.
  std::vector<std::string> reversed(words.rbegin(), words.rend());
  try {
    parser_->app.parse(std::move(reversed));
    return true;
  } catch (const CLI::CallForHelp&) {
    if (auto printed = print(parser_->app.help()); !printed.ok()) return printed.error();
    return false;
  } catch (const CLI::Error& error) {
    return Error{Errc::InvalidArgument, parser_->in_words(error, words),
                 "tidemark " + parser_->command + " --help shows what there is"};
  }
}

}  // namespace tidemark::cli
