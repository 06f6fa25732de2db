// SPDX-License-Identifier: Apache-2.0
// Records on their way to the client.
//
// A record is first staged, under a lock of its own that is never held while anything else is called: events come from
// under the device's lock. Staged records are moved into the client's buffers by one thread at a time, at the end of a
// call or in a flush, with no lock held: the client's functions may call CUDA and CUPTI. What finds no room is counted.
// Threads: any.
#pragma once
#include <cstddef>
#include <type_traits>

#include "softgpu/cupti/api.h"

namespace tidemark::softgpu::cupti {

void stage(const void* record, std::size_t bytes);

template <class Record>
void stage(const Record& record) {
  static_assert(std::is_trivially_copyable_v<Record> && sizeof(Record) % ACTIVITY_RECORD_ALIGNMENT == 0);
  stage(&record, sizeof record);
}

// A copy of the text that stays: records point at names.
const char* intern(const char* text);

// At the end of a call: delivers when enough is staged.
void deliver_some();
// Everything staged; partly filled buffers too when asked for. Not from inside of a buffer function: then it returns.
enum class Partly { Keep, Deliver };
void deliver(Partly partly);
// The library is finalised: buffers go back, records and functions are forgotten.
void forget_buffers();

}  // namespace tidemark::softgpu::cupti
