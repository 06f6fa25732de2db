// SPDX-License-Identifier: Apache-2.0
// The names of softgpu's environment variables. One that is misspelt would be a setting that silently is not there: it
// is found here, with the name that was probably meant.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "base/nearest.h"

namespace tidemark::softgpu {

std::span<const std::string_view> known_variables();

// environment: "NAME=value", a null pointer at the end, as environ.
std::vector<UnknownVariable> unknown_variables(const char* const* environment);

}  // namespace tidemark::softgpu
