// SPDX-License-Identifier: Apache-2.0
// Which default stream a call means. A CUDA entry point comes in two forms: the plain one, where stream 0 is the legacy
// stream that waits for all others, and its twin (_ptsz, _ptds), where stream 0 is the calling thread's own stream. The
// twins are generated: each opens this scope and calls the plain form, which asks active() where stream 0 matters.
// Each shared library has its own counter: the scope does not reach across libraries, as a plain call made from inside
// one means the legacy stream. Threads: the state is the calling thread's alone.
#pragma once

namespace tidemark::softgpu {

class PerThreadDefaultStream {
 public:
  PerThreadDefaultStream() { ++depth_; }
  ~PerThreadDefaultStream() { --depth_; }
  PerThreadDefaultStream(const PerThreadDefaultStream&) = delete;
  PerThreadDefaultStream& operator=(const PerThreadDefaultStream&) = delete;

  static bool active() { return depth_ != 0; }

 private:
  static inline constinit thread_local int depth_ = 0;
};

}  // namespace tidemark::softgpu
