/* SPDX-License-Identifier: Apache-2.0 */
/* The EGL types that cudaEGL.h names, so that its prototypes are read on a machine without EGL. */
#pragma once
#include <stdint.h>
typedef int32_t EGLint;
