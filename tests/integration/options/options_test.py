#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The options of the caching allocator, through `tidemark run` and the preloaded library, on the software device.

usage: options_test.py TIDEMARK PROGRAM"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TIDEMARK, PROGRAM = None, None
MIB = 1 << 20


class Options(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)

    def call(self, *words, env=None):
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TMPDIR": str(self.folder), **(env or {})}
        return subprocess.run([TIDEMARK, *map(str, words)], cwd=self.folder, env=environment, text=True, capture_output=True, timeout=180)

    def run_it(self, case, *options, env=None, execute=False):
        environment = {"SOFTGPU_DRY_RUN": "0" if execute else "1"}
        done = self.call("run", "--device", "soft:rtx2080ti-11g", *options, "-o", "run.tide", "--force", "--", PROGRAM, case,
                         env={**environment, **(env or {})})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def report(self):
        done = self.call("report", "run.tide", "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def complains(self, done, *words):
        self.assertEqual(done.returncode, 2, done.stderr)
        lines = done.stderr.splitlines()
        self.assertTrue(lines[0].startswith("error: ") and lines[1].startswith("hint: "), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)


class Served(Options):
    def test_sizes_are_rounded_and_the_loss_is_told(self):
        self.run_it("round", "--mode", "cache")
        self.assertEqual(self.report()["cache"]["at_end"]["rounding_loss_bytes"], (1024 - 1000) + (70144 - 70000))
        self.run_it("round", "--mode", "cache", "--round", "64KiB")
        cache = self.report()["cache"]
        self.assertEqual(cache["at_end"]["live_bytes"], 3 * MIB + 65536 + 131072)
        self.assertEqual(cache["at_end"]["rounding_loss_bytes"], (65536 - 1000) + (131072 - 70000))
        self.assertEqual(cache["peak_rounding_loss_bytes"], cache["at_end"]["rounding_loss_bytes"])

    def test_a_cap_bounds_what_is_kept(self):
        self.assertEqual(self.run_it("cap", "--mode", "cache").stdout, "kept 1024 MiB\n")
        for cap, kept in (("256MiB", 256), ("0", 0)):
            done = self.run_it("cap", "--mode", "cache", "--cache-cap", cap)
            self.assertLessEqual(int(done.stdout.split()[1]), kept)
            cache = self.report()["cache"]
            self.assertLessEqual(cache["at_end"]["cached_bytes"], kept * MIB)
            self.assertGreaterEqual(cache["given_back_bytes"], (1024 - kept) * MIB)

    def test_after_idling_nothing_is_kept(self):
        self.assertEqual(self.run_it("idle", "--mode", "cache", "--trim-after", "20ms").stdout, "given back, and taken again\n")
        self.assertGreaterEqual(self.report()["cache"]["given_back_bytes"], 512 * MIB)

    def test_emptying_the_cache_gives_everything_back(self):
        self.assertEqual(self.run_it("empty", "--mode", "cache").stdout, "kept 256 MiB, then 0 MiB\n")
        self.assertEqual(self.run_it("empty", "--mode", "observe").stdout, "kept 0 MiB, then 0 MiB\n")

    def test_freed_memory_is_filled_in_order(self):
        self.assertEqual(self.run_it("poison", "--mode", "cache", execute=True).stdout, "11111111 11111111, a number\n")
        for schedule in ("eager", "late", "random:1", "random:2", "random:3"):
            done = self.run_it("poison", "--mode", "cache", "--poison", execute=True, env={"SOFTGPU_SCHEDULE": schedule})
            self.assertEqual(done.stdout, "fff5fff5 fff5fff5, not a number\n", schedule)
            self.assertGreaterEqual(int(self.report()["facts"]["cache.filled_bytes"]), 6 << 16)

    def test_the_checker_agrees_with_filled_memory(self):
        done = self.run_it("poison", "--mode", "cache", "--poison", execute=True, env={"SOFTGPU_CHECK": "1"})
        self.assertNotIn("check:", done.stderr)

    def test_whole_blocks_are_the_drivers_own(self):
        for options in (("--whole-blocks",), ("--mode", "cache", "--whole-blocks")):
            self.assertEqual(self.run_it("whole", *options).stdout, "whole\n")
            report = self.report()
            self.assertEqual((report["trace"]["mode"], report["totals"]["driver_allocations"]), ("observe", 4))
            self.assertIn("driver's own", report["facts"]["mode.observe"])

    def test_the_environment_says_the_same(self):
        done = self.run_it("cap", env={"TIDEMARK_CACHE_CAP": "128MiB"}, *("--mode", "cache"))
        self.assertLessEqual(int(done.stdout.split()[1]), 128)

    def test_a_text_report_tells_of_the_cache(self):
        self.run_it("round", "--mode", "cache", "--round", "64KiB")
        text = self.call("report", "run.tide").stdout
        self.assertRegex(text, r"Cache +\W* *0 waits avoided")
        self.assertRegex(text, r"at the end +3\.19 MiB live, [0-9.]+ [KM]iB cached, [0-9.]+ MiB reserved, 122\.66 KiB lost to rounding")


class EarlyFrees(Options):
    def late_frees(self, case, schedule, *options):
        done = self.run_it(case, "--mode", "cache", *options, env={"SOFTGPU_SCHEDULE": schedule}, execute=True)
        self.assertEqual(done.stdout, "freed\n")
        return done, self.report()["late_frees"]

    def test_a_free_while_another_stream_still_uses_the_block_is_a_bug_with_two_scopes(self):
        for case, by in (("late-copy", "copy"), ("late-kernel", "kernel")):
            done, found = self.late_frees(case, "late", "--check-frees")
            self.assertEqual(len(found), 1, done.stderr)
            self.assertEqual((found[0]["requested_bytes"], found[0]["used"]["by"]), (3 * MIB, by))
            self.assertEqual((found[0]["freed"]["layer"], found[0]["used"]["layer"]), ("releaser", "user"))
            self.assertNotEqual(found[0]["freed"]["stream"], found[0]["used"]["stream"])
            self.assertIn("frees memory that is still in use: 3.00 MiB in releaser", done.stderr)
            self.assertIn("submitted in user", done.stderr)
            text = self.call("report", "run.tide").stdout
            self.assertRegex(text, r"Freed while in use elsewhere")
            self.assertRegex(text, r"releaser +user +" + by)

    def test_what_has_ended_by_then_is_none(self):
        self.assertEqual(self.late_frees("late-copy", "eager", "--check-frees")[1], [])

    def test_every_order_counts(self):
        for schedule in ("eager", "late", "random:1", "random:2"):
            self.assertEqual(self.late_frees("ordered", schedule, "--check-frees")[1], [], schedule)

    def test_it_is_looked_for_where_it_is_asked_for(self):
        self.assertEqual(self.late_frees("late-copy", "late")[1], [])


class Wrong(Options):
    def test_a_value_that_cannot_be_is_an_error_before_the_program_runs(self):
        for options, words in ((("--round", "1000"), ("--round: ", "power of two")), (("--round", "128MiB"), ("64.00 MiB",)),
                               (("--cache-cap", "lots"), ("--cache-cap: not a size",)), (("--trim-after", "5"), ("millisecond",)),
                               (("--trim-after", "soon"), ("--trim-after: not a duration",)),
                               (("--mode", "observe", "--poison"), ("served memory", "--mode cache")),
                               (("--whole-blocks", "--round", "4KiB"), ("served memory", "--whole-blocks"))):
            done = self.call("run", *options, "--", PROGRAM, "none")
            self.complains(done, *words)
            self.assertEqual(done.stdout, "", options)

    def test_a_variable_that_cannot_be_read_ends_recording_and_not_the_program(self):
        done = self.run_it("none", env={"TIDEMARK_ROUND": "1000"})
        self.assertEqual(done.stdout, "ran\n")
        self.assertIn("TIDEMARK_ROUND: sizes cannot be rounded to multiples of '1000'; nothing is recorded", done.stderr)
        self.assertIn("hint: a power of two", done.stderr)

    def test_where_memory_is_observed_it_is_said_that_they_mean_nothing(self):
        done = self.run_it("none", "--mode", "observe", env={"TIDEMARK_POISON": "1"})
        self.assertIn("memory is observed", done.stderr)

    def test_help_names_them(self):
        text = self.call("run", "--help").stdout
        for option in ("--round", "--cache-cap", "--trim-after", "--poison", "--check-frees", "--whole-blocks"):
            self.assertIn(option, text)


if __name__ == "__main__":
    TIDEMARK, PROGRAM = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
