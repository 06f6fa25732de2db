#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tidemark plan` as a person or a script meets it; every layout is checked here once more, in another language.

usage: plan_test.py TIDEMARK"""
import csv
import io
import os
import pathlib
import pty
import random
import signal
import subprocess
import sys
import tempfile
import unittest

TIDEMARK = None
# Three that meet in turns, one below all: 12 is the least height.
SMALL = "id,lower,upper,size\nw,0,21,4\nx,0,9,4\ny,0,3,4\nz,9,21,8\n"
SMALL_LAYOUT = "id,lower,upper,size,offset\nw,0,21,4,0\nx,0,9,4,4\ny,0,3,4,8\nz,9,21,8,4\n"


def hard(seed, count=400):
    draw = random.Random(seed)
    rows = ["id,lower,upper,size"]
    for i in range(count):
        lower = draw.randrange(300)
        rows.append(f"{i},{lower},{lower + 1 + draw.randrange(80)},{1 + draw.randrange(1000)}")
    return "\n".join(rows) + "\n"


class Plan(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.addCleanup(self.temporary.cleanup)
        (self.folder / "small.csv").write_text(SMALL)

    def run_it(self, *arguments, **more):
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        return subprocess.run([TIDEMARK, "plan", *map(str, arguments)], cwd=self.folder, env=environment, text=True,
                              capture_output=True, timeout=100, **more)

    def succeeds(self, *arguments):
        done = self.run_it(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def fails(self, code, *arguments, says=()):
        done = self.run_it(*arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        lines = done.stderr.splitlines()
        self.assertEqual([line.split(":")[0] for line in lines], ["error", "hint"], done.stderr)
        self.assertEqual(done.stdout, "")
        for words in says:
            self.assertIn(words, done.stderr)

    def check(self, before, after, capacity=None, align=1):
        """No two rows that are alive at once share a byte, and nothing but offsets was added."""
        rows = [{k: v if k == "id" else int(v) for k, v in row.items()} for row in csv.DictReader(io.StringIO(after))]
        given = list(csv.DictReader(io.StringIO(before)))
        self.assertEqual([r["id"] for r in rows], [r["id"] for r in given])
        for i, a in enumerate(rows):
            self.assertEqual(a["offset"] % align, 0)
            self.assertLessEqual(a["offset"] + a["size"], capacity or 1 << 62)
            for b in rows[:i]:
                if a["lower"] < b["upper"] and b["lower"] < a["upper"]:
                    self.assertTrue(a["offset"] + a["size"] <= b["offset"] or b["offset"] + b["size"] <= a["offset"], (a, b))

    def test_the_layout_is_the_one_kept_here(self):
        self.assertEqual(self.succeeds("--buffers", "small.csv"), SMALL_LAYOUT)
        self.check(SMALL, SMALL_LAYOUT, capacity=12)

    def test_a_file_is_written_and_its_height_told(self):
        text = self.succeeds("--buffers", "small.csv", "--capacity", "12", "-o", "out.csv")
        self.assertEqual((self.folder / "out.csv").read_text(), SMALL_LAYOUT)
        self.assertRegex(text, r"^out\.csv: 12 bytes \(12 B\), 1\.0000 of the 12 alive at once; no layout is lower; [\d.]+ s\n$")

    def test_larger_ones_are_sound_with_any_alignment(self):
        for seed, align in ((1, 1), (2, 16), (3, 512)):
            text = hard(seed)
            (self.folder / "hard.csv").write_text(text)
            self.check(text, self.succeeds("--buffers", "hard.csv", "--budget", "200ms", "--align", align), align=align)

    def test_columns_may_come_in_any_order_and_an_offset_is_replaced(self):
        (self.folder / "turned.csv").write_text("offset,size,upper,lower,id\n5,4,3,0,a\n5,4,2,1,b\n")
        self.assertEqual(self.succeeds("--buffers", "turned.csv").splitlines()[0], "id,lower,upper,size,offset")

    def test_what_does_not_fit_is_code_3_with_the_least_that_would(self):
        self.fails(3, "--buffers", "small.csv", "--capacity", "11", "-o", "out.csv", says=["12 are alive at once"])
        self.assertFalse((self.folder / "out.csv").exists())

    def test_what_is_not_found_in_time_is_code_1_with_the_way_out(self):
        (self.folder / "hard.csv").write_text(hard(9))
        bound = 0
        rows = [tuple(map(int, line.split(",")))[1:] for line in hard(9).splitlines()[1:]]
        for t in range(400):
            bound = max(bound, sum(size for lower, upper, size in rows if lower <= t < upper))
        done = self.run_it("--buffers", "hard.csv", "--capacity", bound, "--budget", "1ms")
        if done.returncode != 0:  # it may be lucky
            self.assertEqual(done.returncode, 1)
            self.assertIn("hint: allow more time, or a capacity of", done.stderr)

    def test_wrong_usage_is_code_2(self):
        self.fails(2, says=["--buffers"])
        self.fails(2, "--buffers", "small.csv", "--capacity", "much", says=["--capacity"])
        self.fails(2, "--buffers", "small.csv", "--budget", "soon", says=["--budget", "10s"])
        self.fails(2, "--buffers", "small.csv", "--align", "3", says=["power of two"])
        self.fails(2, "--buffers", "small.csv", "--nonsense")
        self.fails(2, "--buffers", "small.csv", "-o", "small.csv", "--force", says=["small.csv"])

    def test_input_that_cannot_be_read_is_code_1_and_names_the_line(self):
        self.fails(1, "--buffers", "missing.csv", says=["missing.csv: No such file"])
        self.fails(1, "--buffers", self.folder, says=["Is a directory"])
        for text, says in (("", "nothing in it"), ("id,lower,upper\n", "no column size"), ("id,lower,upper,size\na,0,1,x\n", "line 2"),
                           ("id,lower,upper,size\na,0,1,18446744073709551615\n", "buffer 0")):
            (self.folder / "bad.csv").write_text(text)
            self.fails(1, "--buffers", "bad.csv", says=["bad.csv", says])

    def test_a_file_that_is_there_is_not_written_over(self):
        (self.folder / "out.csv").write_text("mine")
        self.fails(1, "--buffers", "small.csv", "-o", "out.csv", says=["--force"])
        self.assertEqual((self.folder / "out.csv").read_text(), "mine")
        self.succeeds("--buffers", "small.csv", "-o", "out.csv", "--force")
        self.assertEqual((self.folder / "out.csv").read_text(), SMALL_LAYOUT)

    def test_help_has_examples_and_the_codes(self):
        text = self.succeeds("--help")
        for words in ("Examples:", "tidemark plan --buffers", "id,lower,upper,size", "Exit code"):
            self.assertIn(words, text)

    def test_on_a_terminal_progress_is_shown_and_an_interrupt_keeps_the_best(self):
        (self.folder / "hard.csv").write_text(hard(4, count=3000))
        leader, follower = pty.openpty()
        running = subprocess.Popen([TIDEMARK, "plan", "--buffers", "hard.csv", "-o", "out.csv", "--budget", "90s"], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=follower, text=True)
        os.close(follower)
        shown = b""
        while b"at least" not in shown:  # that it is at work
            shown += os.read(leader, 4096)
        running.send_signal(signal.SIGINT)
        said = running.communicate(timeout=60)[0]
        os.close(leader)
        self.assertEqual(running.returncode, 0)
        self.assertIn("out.csv: ", said)
        self.check(hard(4, count=3000), (self.folder / "out.csv").read_text())


if __name__ == "__main__":
    TIDEMARK = str(pathlib.Path(sys.argv[1]).resolve())
    unittest.main(argv=sys.argv[:1])
