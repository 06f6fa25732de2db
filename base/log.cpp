// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <unistd.h>

#include <mutex>
#include <set>
#include <string>

namespace tidemark {

void say(std::string_view who, std::string_view text) {
  std::string line;
  line.reserve(who.size() + text.size() + 3);
  line.append(who).append(": ").append(text).push_back('\n');
  std::string_view rest = line;
  while (!rest.empty()) {
    ssize_t const n = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (n <= 0) return;  // a closed stderr loses the line, never the program
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
}

bool say_once(std::string_view key, std::string_view who, std::string_view text) {
  // Leaked: libraries call this while the process is being torn down.
  static auto& mutex = *new std::mutex;
  static auto& said = *new std::set<std::string, std::less<>>;
  {
    std::lock_guard const lock(mutex);
    if (!said.emplace(key).second) return false;
  }
  say(who, text);
  return true;
}

}  // namespace tidemark
