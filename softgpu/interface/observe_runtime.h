/* SPDX-License-Identifier: Apache-2.0 */
/* What softgpu's libcudart exports for libcupti. A runtime that is loaded while libcuda is already observed takes part
 * by itself. Threads: any. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

typedef struct SoftgpuObserver SoftgpuObserver; /* softgpu/interface/observe.h */

#pragma GCC visibility push(default)
void softgpu_runtime_observe(const SoftgpuObserver* observer);
/* The name of the kernel that a program's `const void* func` stands for, or null. */
const char* softgpu_runtime_kernel_name(const void* func);
#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
