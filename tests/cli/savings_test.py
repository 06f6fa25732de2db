#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tidemark savings` on a quick model: its figures against runs of our own, its formats, its mistakes, and its end.

usage: savings_test.py TIDEMARK TRAINER"""
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TIDEMARK, TRAINER = None, None
MODEL, BUDGET = "gru", 2 << 30
FIXED = {"trick", "baseline", "peak_live_bytes", "peak_reserved_bytes", "saved_bytes", "saved_percent", "slowdown",
         "recompute_flops_ratio", "exactness", "max_batch"}
CLASSES = {"baseline", "bit-identical", "bit-identical-pinned", "tolerance", "changes-model"}


def environment(folder):
    return {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TMPDIR": str(folder)}


def call(folder, *words, **more):
    program = more.pop("program", TIDEMARK)
    return subprocess.run([program, *map(str, words)], cwd=folder, env=environment(folder), text=True, capture_output=True,
                          timeout=280, check=False, **more)


class Measured(unittest.TestCase):
    """One measurement, which the tests look at."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.done = call(cls.folder, "savings", "--model", MODEL, "--budget", BUDGET, "-o", "kept")
        cls.kept = cls.folder / "kept"
        if cls.done.returncode != 0:
            raise AssertionError(cls.done.stderr + cls.done.stdout)
        cls.json = json.loads((cls.kept / "savings.json").read_text())
        cls.rows = {row["trick"]: row for row in cls.json["rows"]}

    def dry(self, flags, memory):
        """A run of the same flags by hand: its report and its code."""
        done = call(self.folder, "run", "--force", "-o", "own.tide", "--device", "soft:a100-80g", "--memory", memory, "--dry-run",
                    "--mode", "cache", "--", TRAINER, *flags.split(), "--steps", "2")
        report = call(self.folder, "report", "own.tide", "--format", "json", "--top", "1")
        return json.loads(report.stdout), done.returncode

    def with_batch(self, row, batch):
        return re.sub(r"--batch \d+", f"--batch {batch}", row["flags"])

    def test_json_has_the_keys_and_classes_that_are_fixed(self):
        self.assertEqual(self.json["model"], MODEL)
        self.assertEqual(self.json["budget_bytes"], BUDGET)
        self.assertEqual(self.json["rows"][0]["trick"], "plain")
        for row in self.json["rows"]:
            self.assertLessEqual(FIXED, set(row), row["trick"])
            self.assertIn(row["exactness"], CLASSES)
            self.assertIsInstance(row["peak_live_bytes"], int)
            self.assertGreaterEqual(row["peak_reserved_bytes"], row["peak_live_bytes"], row["trick"])
            self.assertGreater(row["slowdown"], 0)
            self.assertEqual(sum(row["peak_by_kind"].values()), row["peak_live_bytes"], row["trick"])

    def test_bytes_are_those_of_the_trace(self):
        for trick in ("plain", "checkpoints, sqrt(N)", "bf16"):
            report, code = self.dry(self.rows[trick]["flags"], "512GiB")
            self.assertEqual(code, 0)
            self.assertEqual(self.rows[trick]["peak_live_bytes"], report["peak_live_bytes"], trick)

    def test_saved_is_the_difference_to_the_baseline(self):
        plain = self.rows["plain"]["peak_live_bytes"]
        self.assertEqual(self.rows["plain"]["saved_bytes"], 0)
        for row in self.json["rows"]:
            if row["baseline"] == "plain":
                self.assertEqual(row["saved_bytes"], plain - row["peak_live_bytes"], row["trick"])
                self.assertAlmostEqual(row["saved_percent"], 100 * row["saved_bytes"] / plain)
        self.assertEqual(self.rows["gradients set to none"]["baseline"], "--zero-grads")

    def test_promises_about_gradients_were_checked_and_kept(self):
        for row in self.json["rows"]:
            compared = row["exactness"] not in ("baseline", "changes-model")
            self.assertEqual(row["verified"], True if compared else None, row["trick"])
        self.assertEqual(self.rows["checkpoints, sqrt(N)"]["loss_difference"], 0)
        self.assertGreater(self.rows["bf16"]["loss_difference"], 0)

    def test_recomputation_is_that_of_the_checkpoints(self):
        self.assertEqual(self.rows["plain"]["recompute_flops_ratio"], 0)
        self.assertGreater(self.rows["checkpoints, sqrt(N)"]["recompute_flops_ratio"], 0)
        self.assertLess(self.rows["checkpoints, sqrt(N)"]["recompute_flops_ratio"], 0.5)

    def test_the_largest_batch_fits_and_the_next_does_not(self):
        for trick in ("plain", "batch in 4 parts"):
            row = self.rows[trick]
            step = 4 if "--accumulate 4" in row["flags"] else 1
            self.assertEqual(row["max_batch"] % step, 0)
            self.assertEqual(self.dry(self.with_batch(row, row["max_batch"]), BUDGET)[1], 0, trick)
            report, code = self.dry(self.with_batch(row, row["max_batch"] + step), BUDGET)
            self.assertEqual(code, 1, trick)
            self.assertIsNotNone(report["oom"])

    def test_the_search_agrees_with_trying_every_batch(self):
        row = self.rows["plain"]
        small = row["max_batch"]
        fitting = [n for n in range(max(1, small - 4), small + 5) if self.dry(self.with_batch(row, n), BUDGET)[1] == 0]
        self.assertEqual(max(fitting), small)
        self.assertEqual(fitting, list(range(fitting[0], small + 1)))

    def test_the_table_fits_a_hundred_columns(self):
        for text in (self.done.stdout, (self.kept / "savings.txt").read_text()):
            self.assertTrue(all(len(line) <= 100 for line in text.splitlines()), text)
            for trick in self.rows:
                self.assertIn(trick, text)

    def test_progress_is_plain_lines_where_nobody_watches(self):
        self.assertNotIn("\r", self.done.stderr)
        self.assertRegex(self.done.stderr, r"(?m)^tidemark savings: bytes of gru large")
        self.assertRegex(self.done.stderr, r"(?m)^tidemark savings: largest batch in 2\.00 GiB")

    def test_traces_and_every_format_are_kept(self):
        names = {path.name for path in self.kept.iterdir()}
        self.assertLessEqual({"savings.txt", "savings.md", "savings.json", "savings.html", "savings.svg", "plain.tide"}, names)
        self.assertFalse([name for name in names if name.startswith(("trial-", "tiny-"))])
        for row in self.json["rows"]:
            report = call(self.kept, "report", row["trace"], "--format", "json", "--top", "1")
            self.assertEqual(json.loads(report.stdout)["peak_live_bytes"], row["peak_live_bytes"], row["trick"])

    def test_nothing_is_left_in_the_temporary_folder(self):
        self.assertEqual(sorted(p.name for p in self.folder.iterdir() if p.name.startswith("tidemark-")), [])


class Mistakes(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)

    def complains(self, done, code, *words):
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        self.assertEqual(len(errors), 1, done.stderr)
        self.assertIn("hint: ", done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_unknown_model(self):
        self.complains(call(self.folder, "savings", "--model", "resnt"), 2, "no model 'resnt'", "meant: resnet?")

    def test_budget_that_is_no_size(self):
        for text in ("much", "0", "-3GiB"):
            self.complains(call(self.folder, "savings", f"--budget={text}"), 2, "--budget")

    def test_unknown_format(self):
        self.complains(call(self.folder, "savings", "--format", "pdf"), 2, "'pdf' is none of")

    def test_budget_below_the_smallest_batch(self):
        self.complains(call(self.folder, "savings", "--model", "gru", "--budget", "20MiB"), 1, "not even the smallest batch")

    def test_folder_that_is_a_file_or_somebody_elses(self):
        (self.folder / "file").write_text("")
        (self.folder / "full").mkdir()
        (self.folder / "full/notes").write_text("")
        self.complains(call(self.folder, "savings", "-o", "file"), 1, "file")
        self.complains(call(self.folder, "savings", "-o", "full"), 1, "full")
        self.assertEqual((self.folder / "full/notes").read_text(), "")

    def test_trainer_that_is_not_there(self):
        (self.folder / "bin").mkdir()
        alone = shutil.copy(TIDEMARK, self.folder / "bin/tidemark")
        self.complains(call(self.folder, "savings", program=alone), 1, "the reference trainer is not here", "--target")

    def test_help(self):
        done = call(self.folder, "savings", "--help")
        self.assertEqual(done.returncode, 0)
        for word in ("--model", "--budget", "--format", "-o,--output"):
            self.assertIn(word, done.stdout)


class Interrupted(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)

    def start(self, **more):
        return subprocess.Popen([TIDEMARK, "savings", "--model", "resnet"], cwd=self.folder, env={**environment(self.folder), "TERM": "xterm"},
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **more)

    def children(self):
        """Processes that have our folder for their temporary files: the trainer's and its recorder's."""
        mine = f"TMPDIR={self.folder}".encode()
        found = []
        for path in pathlib.Path("/proc").iterdir():
            try:
                if path.name.isdigit() and mine in (path / "environ").read_bytes().split(b"\0"):
                    found.append(int(path.name))
            except OSError:
                pass
        return found

    def wait_until(self, condition):
        deadline = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def test_a_signal_leaves_nothing_behind(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.start(stderr=subprocess.DEVNULL)
            self.wait_until(lambda: len(self.children()) >= 3)
            process.send_signal(number)
            self.assertEqual(process.wait(60), -number)
            self.wait_until(lambda: not self.children())
            self.assertEqual([p.name for p in self.folder.glob("tidemark-savings-*")], [])

    def test_being_killed_leaves_no_process_behind(self):
        process = self.start(stderr=subprocess.DEVNULL)
        self.wait_until(lambda: len(self.children()) >= 3)
        process.kill()
        process.wait(60)
        self.wait_until(lambda: not self.children())

    def test_a_terminal_sees_a_line_that_moves(self):
        ours, theirs = pty.openpty()
        process = self.start(stderr=theirs)
        os.close(theirs)
        text = b""
        while b"largest batch" not in text:
            text += os.read(ours, 4096)
        process.send_signal(signal.SIGINT)
        process.wait(60)
        os.close(ours)
        self.assertIn(b"\r\x1b[K", text)
        self.assertRegex(text.decode(), r"bytes of resnet 50 \d+/\d+")


if __name__ == "__main__":
    TIDEMARK, TRAINER = map(os.path.abspath, sys.argv[1:3])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
