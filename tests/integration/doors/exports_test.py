#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What libtidemark.so shows to the world: exports_test.py LIBRARY KIND, KIND being preload or soname."""
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "interpose" / "entry_points"), str(ROOT / "tools" / "lib")]

import doors  # noqa: E402
import order  # noqa: E402
import table  # noqa: E402

LIBRARY, KIND = sys.argv[1:3]
RUNTIME = {"Runtime12": "@libcudart.so.12", "Runtime13": "@@libcudart.so.13"}
NODES = {"TIDEMARK_1", "libcudart.so.12", "libcudart.so.13", "GLIBC_2.2.5", "GLIBC_2.34"}


def readelf(*options):
    return subprocess.run(["readelf", "-W", *options, LIBRARY], capture_output=True, text=True, check=True).stdout


def names(file):
    return doors.read_names((ROOT / "interpose" / file).read_text())


def expected():
    entries, hooked = table.load(), names("hooked_names.txt")
    made = {f"{name}@@TIDEMARK_1" for name in names("own_names.txt")}
    for symbol in hooked:
        entry = table.find(entries, symbol)
        for name, _, version in doors.versions(entry, symbol):
            made.add(version or (name if entry.layer == "nvml" else f"{name}@@TIDEMARK_1"))
    # Where a stream stands does not matter here, so no headers are read.
    for door in order.doors(entries, set(hooked), {}, {}):
        made.add(door.symbol + RUNTIME.get(door.library, "@@TIDEMARK_1"))
    return made if KIND == "preload" else {name for name in made if not name.startswith("dlsym@")}


class ExportsTest(unittest.TestCase):
    maxDiff = None

    def test_exactly_these_names_are_visible(self):
        rows = [line.split() for line in readelf("--dyn-syms").splitlines()]
        visible = {words[7] for words in rows if len(words) >= 8 and words[6] not in ("UND", "Ndx")}
        # The version nodes stand among the symbols.
        self.assertEqual(visible - NODES - {f"{n}@@{n}" for n in NODES}, expected())

    def test_nothing_of_cuda_is_needed(self):
        needed = {line.split("[")[1].rstrip("]") for line in readelf("-d").splitlines() if "(NEEDED)" in line}
        allowed = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "libdl.so.2", "libpthread.so.0"}
        self.assertLessEqual(needed, allowed if KIND == "preload" else allowed | {"libtidemark-driver.so.1"})
        self.assertFalse("RUNPATH" in readelf("-d") or "RPATH" in readelf("-d"))

    def test_the_stack_is_not_executable_and_there_are_no_text_relocations(self):
        stack = [line for line in readelf("-l").splitlines() if "GNU_STACK" in line]
        self.assertTrue(stack and " RW " in stack[0], stack)
        self.assertFalse("TEXTREL" in readelf("-d"))

    def test_thread_local_storage_is_static(self):
        self.assertTrue("STATIC_TLS" in readelf("-d"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
