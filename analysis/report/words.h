// SPDX-License-Identifier: Apache-2.0
// Words and numbers as reports write them. Names come from a program that may call its layers anything, and from files
// that may hold anything: what goes to a terminal is cleaned first.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark::analysis::report {

// Valid UTF-8 without control characters; what is not becomes a replacement character or a space.
std::string clean(std::string_view text);
// Columns that a cleaned text takes: one per character (wide scripts are not told apart).
std::size_t columns(std::string_view text);
// A cleaned text of at most so many columns. What is too long loses its middle: both ends of a layer's path tell.
std::string fit(std::string_view text, std::size_t most, bool unicode);
std::string pad_right(std::string_view text, std::size_t width);
std::string pad_left(std::string_view text, std::size_t width);

std::string bytes_text(std::uint64_t bytes);       // "9.46 GiB"
std::string duration_text(std::uint64_t time_ns);  // "1.204 s", "12.5 ms"
// A place in time, to the microsecond of a run of seconds: so that it can be asked for.
std::string instant_text(std::uint64_t time_ns);                                       // "1.204512 s", "12.503 ms"
std::string count_text(std::uint64_t n);                                               // "118,322"
std::string count_text(std::uint64_t n, std::string_view one, std::string_view many);  // "1 event", "2 events"
std::string percent_text(std::uint64_t part, std::uint64_t whole);                     // "65.5 %"
std::string signal_text(int signal);                                                   // "signal 11 (SIGSEGV)"
// ", step 17, phase forward, layer head": what there is of it.
std::string place_text(const std::optional<std::uint64_t>& step, std::string_view phase, std::string_view layer);
// A command line as it would be typed.
std::string command_text(const std::vector<std::string>& words);

}  // namespace tidemark::analysis::report
