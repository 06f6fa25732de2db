// SPDX-License-Identifier: Apache-2.0
// Functions of every shape that a compiler makes, each of which calls what it is given. shapes.cpp is compiled several
// times, with and without optimisation and frame pointers.
#pragma once
#include <cstddef>

namespace tidemark::interpose {

using Call = void (*)();

struct Shapes {
  void (*plain)(Call);
  void (*large)(Call);                  // hundreds of kilobytes of locals
  void (*aligned)(Call);                // aligns its stack
  void (*variable)(Call, std::size_t);  // as much stack as it is told
  void (*aligned_variable)(Call, std::size_t);
  void (*many_registers)(Call);   // all that a function has to keep
  void (*deep)(Call, int);        // so many times itself
  void (*through_library)(Call);  // a function of the C library between
  void (*while_thrown)(Call);     // in a handler of an exception
};

extern const Shapes kShapesO0, kShapesO2, kShapesO2FramePointer;

}  // namespace tidemark::interpose
