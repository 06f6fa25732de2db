// SPDX-License-Identifier: Apache-2.0
// Lines on stderr for a person: one write per line, so that threads and processes do not mix within a line.
#pragma once
#include <string_view>

namespace tidemark {

// From here on lines go to the file that is stderr now, or nowhere: a program may close it, and what it opens next gets
// its number. Once, before other threads speak.
void keep_to_stderr();
// Prints "<who>: <text>\n".
void say(std::string_view who, std::string_view text);
// The same, but a given key (a literal or a name that stays alive) is said once per process. Returns whether it spoke.
bool say_once(std::string_view key, std::string_view who, std::string_view text);

}  // namespace tidemark
