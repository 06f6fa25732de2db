// SPDX-License-Identifier: Apache-2.0
// The driver under the name by which the second door knows it (interpose/soname).
#pragma once
#include <string>

#include "base/result.h"

namespace tidemark::cli {

// A folder with a link libtidemark-driver.so.1 to the driver: `driver` where it is known, else the one that the system
// finds. It stays when the run has ended: a process that is left over may start others, and those need it before main.
Result<std::string> link_driver(const std::string& driver);

}  // namespace tidemark::cli
