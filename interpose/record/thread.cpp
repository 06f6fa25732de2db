// SPDX-License-Identifier: Apache-2.0
#include "interpose/record/thread.h"

namespace tidemark::interpose {

constinit thread_local Thread detail::this_thread{};

}  // namespace tidemark::interpose
