// SPDX-License-Identifier: Apache-2.0
// make_samples FOLDER: writes every sample trace as FOLDER/NAME.tide.
#include <cstdio>
#include <string>

#include "tests/support/sample_traces.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_samples FOLDER\n");
    return 2;
  }
  for (auto const& sample : tidemark::trace::samples())
    sample.make().save(std::string(argv[1]) + "/" + std::string(sample.name) + ".tide");
  return 0;
}
