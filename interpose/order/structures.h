// SPDX-License-Identifier: Apache-2.0
// Streams that stand in a structure which the call is given.
#pragma once
#include "interpose/order/order.h"

namespace tidemark::interpose::order {

// Calls f(handle) for every stream that a call of such an entry names.
void for_each_stream(const Entry& entry, const Arguments& arguments, void (*f)(std::uint64_t handle, void* data),
                     void* data);

}  // namespace tidemark::interpose::order
