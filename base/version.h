// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace tidemark {

// "0.1.0": the project's version, as CMake has it.
std::string_view version();

}  // namespace tidemark
