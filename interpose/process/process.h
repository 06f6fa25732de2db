// SPDX-License-Identifier: Apache-2.0
// The beginning and the end of recording in this process.
#pragma once
#include "interpose/process/options.h"
#include "interpose/process/shield.h"
#include "interpose/process/stage.h"

namespace tidemark::interpose {

// Starts the recording at the first call; true from then on until something fails or the process forks.
bool start_recording();
bool start_with_driver();
// For hooks: whether this call is recorded. The first one starts the recording.
inline bool ready() {
  return recording() || start_with_driver();
}
// What the environment asked for; constant once recording.
const Options& options();

}  // namespace tidemark::interpose
