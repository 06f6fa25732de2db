// SPDX-License-Identifier: Apache-2.0
// The `tidemark` command: finds the subcommand, runs it, and is the only place that turns errors into lines and codes.
#include <algorithm>
#include <string>
#include <vector>

#include "base/nearest.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/output.h"

namespace tidemark::cli {
namespace {

// In the order in which a new user meets them.
constexpr Command kCommands[] = {
    {"run", "run a program and record its GPU memory", cmd_run},
    {"report", "where a trace's memory went: peaks by kind, layer, phase and step", cmd_report},
    {"replay", "what other allocators would have reserved for the same program", cmd_replay},
    {"savings", "what each memory trick saves on a model, measured", cmd_savings},
    {"plan", "offsets for buffers whose lifetimes are known", cmd_plan},
    {"top", "what devices and recorded processes hold, while they run", cmd_top},
    {"doctor", "what is here to record with, and why something is off", cmd_doctor},
    {"devices", "the cards that the software device can stand in for", cmd_devices},
};

std::string overview() {
  std::size_t width = 0;
  for (Command const& c : kCommands) width = std::max(width, c.name.size());
  std::string text =
      "tidemark shows where GPU memory goes while a neural network trains.\n\n"
      "usage: tidemark COMMAND [ARGUMENTS]\n"
      "       tidemark COMMAND --help\n"
      "       tidemark --version\n\ncommands:\n";
  for (Command const& c : kCommands)
    text += "  " + std::string(c.name) + std::string(width + 2 - c.name.size(), ' ') + std::string(c.summary) + "\n";
  text +=
      "\nexamples:\n"
      "  tidemark run -- ./train\n"
      "  tidemark report run.tide\n"
      "  tidemark report run.tide --by layer --top 30\n"
      "  tidemark savings --model gpt\n"
      "  tidemark devices\n";
  return text;
}

std::string names() {
  std::string text;
  for (Command const& c : kCommands) text += (text.empty() ? "" : ", ") + std::string(c.name);
  return text;
}

Result<int> said(Result<void> printed) {
  if (!printed.ok()) return printed.error();
  return kOk;
}

Result<int> run(Words words) {
  if (words.empty())
    return Error{Errc::InvalidArgument, "no command was given", "tidemark --help lists them: " + names()};
  std::string_view const first = words[0];
  if (first == "--help" || first == "-h") return said(print(overview()));
  if (first == "--version") return said(print("tidemark " + std::string(version()) + "\n"));
  for (Command const& c : commands())
    if (c.name == first) return c.run(words.subspan(1));
  std::vector<std::string_view> known;
  for (Command const& c : commands()) known.push_back(c.name);
  std::string_view const meant = nearest(first, known);
  return Error{Errc::InvalidArgument, "unknown command '" + std::string(first) + "'",
               (meant.empty() ? "" : "meant: " + std::string(meant) + "? ") + "tidemark --help lists them: " + names()};
}

}  // namespace

std::span<const Command> commands() {
  return kCommands;
}

}  // namespace tidemark::cli

int main(int argc, char** argv) {
  using namespace tidemark;
  cli::survive_closed_pipes();
  auto const result = cli::run({argv + 1, argv + std::max(argc, 1)});
  if (result.ok()) return *result;
  cli::complain(result.error());
  return result.error().code == Errc::InvalidArgument ? cli::kUsage : cli::kFailed;
}
