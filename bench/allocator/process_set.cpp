// SPDX-License-Identifier: Apache-2.0
#include "bench/allocator/process_set.h"

#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace tidemark::bench {

namespace {

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (char const c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string first_line(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "";
  char line[512] = "";
  if (std::fgets(line, sizeof line, pipe) == nullptr) line[0] = 0;
  pclose(pipe);
  std::string text = line;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

double Answer::operator[](const std::string& question) const {
  for (auto const& [name, value] : values)
    if (name == question) return value;
  return 0;
}

Answer ask(const PeerName& peer, const std::vector<std::string>& arguments, const std::string& environment) {
  std::string command = "SOFTGPU_QUIET=1 SOFTGPU_DRY_RUN=1 LD_LIBRARY_PATH=" + quoted(BENCH_SOFTGPU) +
                        ":\"$LD_LIBRARY_PATH\" " + peer.environment + " " + environment + " " +
                        quoted(std::filesystem::read_symlink("/proc/self/exe")) + " --peer " + quoted(peer.name);
  for (const std::string& argument : arguments) command += " " + quoted(argument);
  // What a library says at its start is of interest only where the process fails.
  std::string const talk =
      std::filesystem::temp_directory_path() / ("bench_allocator-" + std::to_string(getpid()) + ".stderr");
  command += " 2>" + quoted(talk);
  Answer answer;
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {.exit_code = 127};
  char line[512];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    std::string const text = line;
    if (std::size_t const tab = text.find('\t'); tab != text.npos)
      answer.values.emplace_back(text.substr(0, tab), std::strtod(text.c_str() + tab, nullptr));
  }
  int const status = pclose(pipe);
  answer.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (std::ifstream file(talk); answer.exit_code != 0)
    for (std::string text; std::getline(file, text);) answer.talk += text + "\n";
  std::filesystem::remove(talk);
  return answer;
}

void answer(const std::string& question, double value) {
  std::printf("%s\t%.17g\n", question.c_str(), value);
  std::fflush(stdout);
}

void Table::add(const std::string& peer, const std::string& question, double value) {
  auto const note = [](std::vector<std::string>& names, const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  note(peers_, peer);
  note(questions_, question);
  values_[{peer, question}].push_back(value);
}

const std::vector<double>* Table::find(const std::string& peer, const std::string& question) const {
  auto const found = values_.find({peer, question});
  return found == values_.end() ? nullptr : &found->second;
}

bool Table::has(const std::string& peer, const std::string& question) const {
  return find(peer, question) != nullptr;
}

double Table::median(const std::string& peer, const std::string& question) const {
  std::vector<double> values = *find(peer, question);
  std::sort(values.begin(), values.end());
  std::size_t const n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double Table::best(const std::string& peer, const std::string& question) const {
  const std::vector<double>& values = *find(peer, question);
  return *std::min_element(values.begin(), values.end());
}

std::string machine() {
  utsname names{};
  uname(&names);
  std::string processor;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) {
      processor = line.substr(line.find(':') + 2);
      break;
    }
  return std::string(names.sysname) + " " + names.machine + ", " + std::to_string(std::thread::hardware_concurrency()) +
         " x " + (processor.empty() ? "?" : processor);
}

std::string commit() {
  std::string const git = "git -C " + quoted(BENCH_SOURCES) + " ";
  std::string const name = first_line(git + "rev-parse --short=12 HEAD 2>/dev/null");
  if (name.empty()) return "unknown";
  return name + (first_line(git + "status --porcelain --untracked-files=no 2>/dev/null").empty() ? "" : "+");
}

}  // namespace tidemark::bench
