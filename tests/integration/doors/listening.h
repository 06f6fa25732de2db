/* SPDX-License-Identifier: Apache-2.0 */
/* What the library of these tests exports beside libtidemark.so's names: a way in for a listener. */
#pragma once
#include "interpose/order/order.h"

namespace tidemark::doors {

struct Listening {
  void (*listen)(interpose::order::Listener listener, interpose::order::Layers layers);
  std::uint64_t (*untold_calls)();
  const char* (*unknown_function)();
};

}  // namespace tidemark::doors
