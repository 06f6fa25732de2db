// SPDX-License-Identifier: Apache-2.0
// CUDA's keywords. The toolkit's host_defines.h gives a name its meaning for host compilers unless it is defined
// already; these are the ones that need another, so they come before it.
#pragma once

// At block scope thread_local means static: one object per OS thread, that is, per block that runs. An
// `extern __shared__ T x[]` compiles but does not link: its size is the launch's. Use TIDEMARK_DYNAMIC_SHARED.
#define __shared__ thread_local
#define __device__
#define __host__
#define __global__
#define __constant__
#define __managed__
#define __grid_constant__
#define __cluster_dims__(...)
#define __block_size__(...)
#define __launch_bounds__(...)
#define __maxnreg__(...)
// Empty, not an attribute: libstdc++ writes __attribute__((__noinline__)).
#define __noinline__

#if !defined(__clang__)
#define __builtin_assume(condition) ((condition) ? static_cast<void>(0) : __builtin_unreachable())
#endif
