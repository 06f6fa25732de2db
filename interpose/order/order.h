// SPDX-License-Identifier: Apache-2.0
// Who submits work to which stream: told before each call that submits work, orders streams or changes the calling
// thread's context, to one listener. The allocator is to be that listener; nobody else needs to know.
//
// There is a door for every such entry point of the table, exported whether or not somebody listens, since a program
// that is linked to libcuda binds its names when it is loaded. With nobody listening a door is a load, a test and a
// jump; and names that are looked up (dlsym, cuGetProcAddress) get no door at all. So a listener must be there before
// the program looks its names up, at the first CUDA call at the latest; it may go at any time.
//
// The listener is called on the thread that makes the call, before the real function, behind the shield: it may not
// throw, and what it calls of CUDA it calls by the real table (real/driver.h). Its telling is a superset of what the
// device gets to see: the call may still fail. A runtime function and the driver's function beneath it are both told
// if both libraries are listened to.
#pragma once
#include <cstdint>

#include "interpose/real/library.h"

namespace tidemark::interpose::order {

enum class Work : std::uint8_t {
  Launch,
  Copy,
  Fill,
  Managed,  // prefetches and the like
  Host,     // host functions
  Graph,
  Event,
  Stream,  // created, destroyed, made to wait; memory operations
  Capture,
  Sync,     // waited for or asked
  Context,  // the thread's context changes
  Interop,
};

// What is in the registers and on the stack when the function is called. For reading.
struct Arguments {
  std::uint64_t integer[6];
  std::uint64_t others[2];  // rax and r10: not arguments, and kept all the same
  alignas(16) double vector[8][2];
  const std::uint64_t* stack;

  std::uint64_t word(int slot) const { return slot < 6 ? integer[slot] : stack[slot - 6]; }
};

struct Entry {
  const char* name;
  Library library;
  Work work;
  bool per_thread;   // stream 0 means the thread's own default stream
  std::int8_t slot;  // of the stream, see Arguments::word; kNoStream, kInStructure
};
inline constexpr std::int8_t kNoStream = -1, kInStructure = -2;

struct Stream {
  enum class Kind : std::uint8_t { None, Legacy, PerThread, Handle };
  Kind kind = Kind::None;
  std::uint64_t handle = 0;  // of Kind::Handle

  bool operator==(const Stream&) const = default;
};

// The stream that a call of the driver means; `per_thread`: it is a twin for which 0 means the thread's own.
Stream stream_of(const void* handle, bool per_thread);

// Told once for each stream that a call names.
struct Submission {
  const Entry& entry;
  Stream stream;
  const Arguments* arguments;  // null where a hook tells in a door's place
};

using Listener = void (*)(const Submission&);
// Whether a copy or a fill may go to the driver at all. Asked where somebody listens, before he is told; what is
// refused is an invalid value to the program.
using Guard = bool (*)(const Entry&, const Arguments&);
void set_guard(Guard guard);
enum class Layers : std::uint8_t { Driver, DriverAndRuntime };

// One at a time; null for nobody. A call under way on another thread may still be told to the one before.
void listen(Listener listener, Layers layers = Layers::Driver);
// Whether doors of a library are to be handed out.
bool wanted(Library library);

// Calls that nobody was told of, since they came out of a signal handler that interrupted us. Whoever relies on being
// told compares this number.
std::uint64_t untold_calls();

// A function of the driver was handed out that the table of entry points does not have: it may submit work unseen.
void met_unknown(const char* name);
// The first of them; null as long as there was none.
const char* unknown_function();

// The door of an entry, for those who hand out functions.
void* door(int number);

// For hooks of entries that also submit work.
void tell(const Entry& entry, std::uint64_t stream);

}  // namespace tidemark::interpose::order
