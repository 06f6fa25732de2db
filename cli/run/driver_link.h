// SPDX-License-Identifier: Apache-2.0
// Links that the environment of a program needs: the driver under the name by which the second door knows it
// (interpose/soname), and folders under names that can stand in LD_PRELOAD and LD_LIBRARY_PATH. They stay when the run
// has ended: a process that is left over may start others, and those need them before main.
#pragma once
#include <string>

#include "base/result.h"

namespace tidemark::cli {

// A folder with a link libtidemark-driver.so.1 to the driver: `driver` where it is known, else the one that the system
// finds.
Result<std::string> link_driver(const std::string& driver);

// The folder, or a link to it where a space or a colon in its name would make two of it.
Result<std::string> one_word(const std::string& folder);

}  // namespace tidemark::cli
