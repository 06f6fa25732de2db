#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The founding article's error, number by number, on the card that it happened on; and the same tensors served by the allocator.

usage: founding_test.py TIDEMARK PROGRAM"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TIDEMARK, PROGRAM = None, None
MIB = 1 << 20
# 10.76 GiB less 9.87 GiB reserved and 30.94 MiB free is what the context and the display held.
CARD = {"SOFTGPU_CONTEXT": "879.25MiB", "SOFTGPU_DRY_RUN": "1"}


class Founding(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)

    def call(self, *words):
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **CARD}
        return subprocess.run([TIDEMARK, *words], cwd=self.folder, env=environment, text=True, capture_output=True, timeout=120)

    def run_it(self, mode, case):
        done = self.call("run", "--device", "soft:rtx2080ti-11g", "--mode", mode, "-o", "run.tide", "--force", "--", PROGRAM, case)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def report(self):
        return json.loads(self.call("report", "run.tide", "--format", "json").stdout)

    def test_by_pytorchs_rules_it_fails_as_it_did(self):
        done = self.run_it("observe", "rules")
        self.assertEqual(done.stdout, "44.00 MiB: cudaErrorMemoryAllocation; 9.46 GiB allocated, 9.87 GiB reserved, 30.94 MiB free\n")
        self.assertEqual(self.report()["oom"]["requested_bytes"], 44 * MIB)

    def test_served_by_the_allocator_the_same_tensors_leave_room_for_it(self):
        done = self.run_it("cache", "plain")
        self.assertEqual(done.stdout, "44.00 MiB: served; 9.46 GiB allocated\n")
        self.assertNotIn("out of memory", done.stderr)
        report = self.report()
        self.assertIsNone(report["oom"])
        self.assertEqual(report["trace"]["mode"], "cache")
        # All of it at its peak: every tensor beside the workspaces, and the 44 MiB take the place of what went.
        self.assertEqual(report["peak_live_bytes"], (10 * 64 + 118 * 80 + 28) * MIB)
        self.assertLessEqual(report["peak_reserved_bytes"], (10108 + 30.94) * MIB)
        self.assertEqual(report["end_live_bytes"], (10 * 22 + 118 * 80 + 28 + 44) * MIB)
        # Free pages are in holes of 42 MiB at most: they were put together, and no byte of a tensor moved.
        self.assertGreaterEqual(int(report["facts"]["cache.moved_bytes"]), 14 * MIB)


if __name__ == "__main__":
    TIDEMARK, PROGRAM = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
