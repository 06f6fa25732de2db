#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is said when memory runs out: on stderr, in the trace, in the report; and the program's own error untouched.

usage: oom_test.py TIDEMARK SCENARIOS"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TIDEMARK, SCENARIOS = None, None


class Oom(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)

    def run_it(self, scenario, *options, code=0, told="cudaErrorMemoryAllocation"):
        words = [TIDEMARK, "run", "--device", "soft:rtx2080ti-11g", "--dry-run", *options, "-o", "run.tide", "--", SCENARIOS, scenario]
        done = subprocess.run(words, cwd=self.folder, text=True, capture_output=True, timeout=120)
        self.assertEqual((done.returncode, done.stdout), (code, f"cudaMalloc: {told}\n"), done.stderr)
        report = subprocess.run([TIDEMARK, "report", "run.tide", "--format", "json"], cwd=self.folder, text=True,
                                capture_output=True, check=True)
        return done.stderr, json.loads(report.stdout)

    def test_a_shortage_names_the_owners(self):
        said, report = self.run_it("shortage")
        self.assertIn("out of memory on device 0 (10.76 GiB)", said)
        self.assertRegex(said, r"wanted +100\.00 MiB by cudaMalloc in encoder\.\d, phase forward")
        self.assertRegex(said, r"verdict +shortage: ")
        self.assertEqual(len(re.findall(r"%  encoder\.\d \(\d+ blocks\)", said)), 4)
        self.assertRegex(said, r"by kind +activation \d+\.\d+ GiB \(100 %\)")
        self.assertIn("activations are the most of it: checkpointing", said)
        self.assertIn("tidemark report", said)
        self.assertEqual(report["oom"]["requested_bytes"], 100 << 20)
        self.assertEqual(report["oom"]["step"], 7)
        self.assertIn("verdict   shortage", report["oom"]["text"])

    def test_names_cannot_steer_a_terminal_and_one_is_one(self):
        said, _ = self.run_it("odd-names")
        self.assertNotIn("\033", said)
        self.assertNotIn("\a", said)
        self.assertIn("(1 block)", said)
        self.assertIn("  1 allocation failed for lack of memory\n", said)
        summary = said[said.index("tidemark: mode cache"):].splitlines()
        self.assertLess(max(len(line) for line in summary if "tide" not in line), 110)

    def test_an_unmarked_program_is_pointed_to_stacks_and_ranges(self):
        said, report = self.run_it("fragmentation", "--mode", "observe")
        self.assertIn("tidemark run --stacks ..., then tidemark report --by stack", said)
        self.assertIn("NVTX ranges, or tidemark_push", said)
        self.assertNotIn("largest layers", said)
        self.assertNotIn("tidemark report", report["oom"]["text"], "the report does not send to itself")
        said, _ = self.run_it("fragmentation", "--mode", "observe", "--stacks", "--force")
        self.assertRegex(said, r"tidemark report \S+run\.tide --by stack")
        said, _ = self.run_it("shortage", "--force")
        self.assertNotIn("--stacks", said)

    def test_of_a_storm_the_report_shows_what_was_explained(self):
        _, report = self.run_it("storm")
        self.assertIn("verdict   too large", report["oom"]["text"])
        self.assertEqual(report["oom"]["count"], 10000)
        text = subprocess.run([TIDEMARK, "report", "run.tide"], cwd=self.folder, text=True, capture_output=True, check=True).stdout
        self.assertIn("10,000 failed allocations", text)
        self.assertIn("verdict   too large", text)

    def test_with_stacks_the_call_that_failed_is_named_without_the_systems_frames(self):
        _, report = self.run_it("shortage", "--stacks")
        for frames in (report["oom"]["frames"], report["oom"]["failures"][0]["frames"]):
            self.assertIn("shortage()", frames[0])
            self.assertTrue(frames[-1].startswith("main"), frames)
        text = subprocess.run([TIDEMARK, "report", "run.tide"], cwd=self.folder, text=True, capture_output=True, check=True).stdout
        self.assertRegex(text, r"asked for by\n +\(anonymous namespace\)::shortage\(\)")

    def test_bytes_in_pieces_are_fragmentation(self):
        said, _ = self.run_it("fragmentation", "--mode", "observe")
        self.assertRegex(said, r"verdict +fragmentation: \d+\.\d+ GiB reserved but not in use")
        self.assertIn("expandable_segments", said)

    def test_served_memory_in_pieces_is_put_together(self):
        """What the driver cannot give because it is in pieces, the allocator gives: it moves frames, not data."""
        said, report = self.run_it("fragmentation", code=1, told="cudaSuccess")
        self.assertNotIn("out of memory", said)
        self.assertIsNone(report["oom"])
        self.assertEqual(report["trace"]["mode"], "cache")

    def test_of_served_memory_it_is_said_who_is_in_the_way(self):
        said, report = self.run_it("pinned", "--mode", "cache", "--memory", "1GiB")
        said = said[said.rindex("out of memory"):]
        self.assertRegex(said, r"wanted +100\.00 MiB by cudaMalloc in wanting")
        self.assertRegex(said, r"verdict +fragmentation: \d+\.\d+ MiB reserved but not in use")
        self.assertRegex(said, r"cache +\d+\.\d+ MiB kept free, the largest piece 1\.50 MiB")
        self.assertRegex(said, r"1\.50 MiB  of pinning stand between 1\.50 MiB and 1\.50 MiB that are free: without them 4\.00 MiB could serve")
        self.assertIn("kept free, the largest piece", report["oom"]["text"])
        fragmentation = report["fragmentation"]
        self.assertEqual(fragmentation["largest_hole_bytes"], 3 << 19)
        worst = fragmentation["culprits"][0]
        self.assertEqual((worst["layer"], worst["live_bytes"], worst["given_back_bytes"]), ("pinning", 3 << 19, 4 << 20))
        self.assertEqual((worst["before_bytes"], worst["after_bytes"]), (3 << 19, 3 << 19))
        text = subprocess.run([TIDEMARK, "report", "run.tide"], cwd=self.folder, text=True, capture_output=True, check=True).stdout
        self.assertRegex(text, r"Blocks that keep free memory apart .* largest free range 1\.50 MiB")
        self.assertRegex(text, r"pinning +1\.50 MiB +1\.50 MiB +1\.50 MiB +4\.00 MiB")

    def test_a_block_larger_than_the_card_is_too_large(self):
        said, report = self.run_it("too-large")
        self.assertRegex(said, r"verdict +too large: one block of 1\.00 TiB")
        self.assertEqual(report["peak"]["live_bytes"], 0)

    def test_a_storm_is_reported_once_a_second_and_recorded_each_time(self):
        said, report = self.run_it("storm")
        self.assertLess(said.count("out of memory"), 20)
        self.assertIn("10,000 allocations failed", said)

    def test_a_limit_is_judged_like_a_card(self):
        said, _ = self.run_it("shortage", "--limit", "1GiB")
        self.assertIn("out of memory on device 0 (1.00 GiB, set by the limit)", said)
        self.assertRegex(said, r"verdict +shortage")
        said, _ = self.run_it("fragmentation", "--mode", "observe", "--limit", "1GiB", "--force")
        self.assertRegex(said, r"verdict +fragmentation")


if __name__ == "__main__":
    TIDEMARK, SCENARIOS = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
