#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the cache keeps goes to others who ask the driver, and counts as free; on a card and under a limit.

usage: relief_test.py TIDEMARK PROGRAM"""
import os
import subprocess
import sys
import tempfile
import unittest

TIDEMARK, PROGRAM = None, None


class Relief(unittest.TestCase):
    def run_it(self, *options):
        with tempfile.TemporaryDirectory() as folder:
            environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "SOFTGPU_DRY_RUN": "1"}
            done = subprocess.run([TIDEMARK, "run", "--device", "soft:rtx2080ti-11g", *options, "-o", "run.tide", "--", PROGRAM], cwd=folder,
                                  env=environment, text=True, capture_output=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            return done

    def check(self, *options):
        done = self.run_it("--mode", "cache", *options)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 7, done.stdout)
        for line in lines:
            self.assertRegex(line, ": got it, what is kept counts as free$")
        self.assertNotIn("out of memory", done.stderr)

    def test_everybody_gets_what_the_cache_keeps(self):
        self.check()

    def test_under_a_limit_too(self):
        self.check("--limit", "4GiB")


if __name__ == "__main__":
    TIDEMARK, PROGRAM = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
