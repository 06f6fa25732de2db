// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/doors/listening.h"

namespace order = tidemark::interpose::order;

extern "C" __attribute__((visibility("default"))) const tidemark::doors::Listening* tidemark_test_listening() {
  static constexpr tidemark::doors::Listening kListening{&order::listen, &order::untold_calls,
                                                         &order::unknown_function};
  return &kListening;
}
