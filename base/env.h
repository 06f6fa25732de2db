// SPDX-License-Identifier: Apache-2.0
// Options from the environment. A value that cannot be read is an error with the variable's name in it, never a silent
// default: a mistyped SOFTGPU_MEMORY must not become an 80 GiB card.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace tidemark {

// The variable's text; nothing when unset or empty.
std::optional<std::string> env_text(const char* name);
Result<bool> env_flag(const char* name, bool otherwise);
Result<std::uint64_t> env_count(const char* name, std::uint64_t otherwise);
Result<Bytes> env_bytes(const char* name, Bytes otherwise);
// "250ns", "100us", "2ms", "1s"; a plain number is nanoseconds.
Result<std::uint64_t> parse_duration_ns(std::string_view text);
Result<std::uint64_t> env_duration_ns(const char* name, std::uint64_t otherwise);

}  // namespace tidemark
