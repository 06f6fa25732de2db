// SPDX-License-Identifier: Apache-2.0
// What a program asks of its allocator and of the device, as a list that every peer is taken through.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tidemark::bench {

struct Step {
  enum class What : std::uint8_t {
    Allocate,     // `bytes` for `block`, in the order of `stream`
    Free,         // `block`, which streams may still use
    Use,          // work in `stream` that writes to `block`
    Order,        // `stream` waits for `other`
    Synchronize,  // the program waits for the device
    Foreign,      // another library takes `bytes` of the device for `block`
    ForeignFree,
    Round,  // an iteration of a loop ends; what is live stays
  };
  What what{};
  std::uint8_t stream = 0;
  std::uint8_t other = 0;
  std::uint32_t block = 0;
  std::uint64_t bytes = 0;
};

struct Script {
  std::string name;
  std::string what;
  std::vector<Step> steps;
  unsigned streams = 1;
  std::uint64_t repeat = 1;           // what is live at the end is freed before the next round
  bool loops = false;                 // the same again and again: a plan may help
  std::string schedule = "eager";     // of the device
  std::uint64_t peak_live_bytes = 0;  // of the program and of other libraries, in steps of 512 B
};

struct ScriptSources {
  std::string snapshots;  // folder of recorded runs (*.csv.gz)
  std::string lengths;    // a table TIMESTAMP,ContextTokens,GeneratedTokens (.csv.gz); empty: lengths are drawn
  bool brief = false;
};

// Ends the program if a file cannot be read.
std::vector<Script> all_scripts(const ScriptSources& sources);

}  // namespace tidemark::bench
