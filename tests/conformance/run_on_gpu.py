#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program on the machine's own GPU; without one says so and ends with 77, which CTest shows as skipped."""
import ctypes
import os
import subprocess
import sys

SKIPPED = 77


def why_not():
    """Why there is no GPU to run on, or None."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return f"no CUDA driver ({error})"
    if hasattr(driver, "softgpu_dry_run"):
        return "the driver on the library path is softgpu"
    if result := driver.cuInit(0):
        return f"cuInit gave {result}"
    count = ctypes.c_int(0)
    if result := driver.cuDeviceGetCount(ctypes.byref(count)):
        return f"cuDeviceGetCount gave {result}"
    return None if count.value else "the driver knows no device"


def main():
    reason = why_not()
    if reason:
        print(f"SKIPPED: {os.path.basename(sys.argv[1])} needs a real GPU: {reason}")
        return SKIPPED
    return subprocess.run(sys.argv[1:], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
