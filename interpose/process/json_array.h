// SPDX-License-Identifier: Apache-2.0
// Words as JSON, for facts that are lists. Nothing here knows the process: the readers of other people's bytes use it
// too.
#pragma once
#include <string>
#include <string_view>

namespace tidemark::interpose {

// A JSON array of strings out of words with a zero byte behind each; bytes that are not UTF-8 become U+FFFD.
std::string json_array(std::string_view words);

}  // namespace tidemark::interpose
