/* SPDX-License-Identifier: Apache-2.0 */
/* The VDPAU types that cudaVDPAU.h names, so that its prototypes are read on a machine without VDPAU. */
#pragma once
#include <stdint.h>
typedef uint32_t VdpDevice;
typedef uint32_t VdpVideoSurface;
typedef uint32_t VdpOutputSurface;
typedef int VdpGetProcAddress(VdpDevice device, uint32_t function_id, void** function_pointer);
