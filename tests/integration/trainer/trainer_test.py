#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tidemark-train under tidemark: the report knows what the trainer knows; bare it trains the same; mistakes are named.

usage: trainer_test.py TIDEMARK TRAINER SOFTGPU_FOLDER"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TIDEMARK, TRAINER, SOFTGPU = None, None, None
SMALL = ["--width", "8", "--image", "16x16", "--batch", "8", "--steps", "3"]


def bare(*arguments, dry=False):
    environment = dict(os.environ, LD_LIBRARY_PATH=SOFTGPU, SOFTGPU_QUIET="1", SOFTGPU_DRY_RUN="1" if dry else "0")
    return subprocess.run([TRAINER, *arguments], env=environment, text=True, capture_output=True, timeout=120, check=False)


def losses(text):
    return re.findall(r"^step +(\d+) +loss (\S+)", text, re.M)


class Trainer(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)

    def recorded(self, *arguments, options=("--dry-run",), code=0):
        words = [TIDEMARK, "run", "--device", "soft:rtx2080ti-11g", *options, "--force", "-o", "run.tide", "--", TRAINER, *arguments]
        done = subprocess.run(words, cwd=self.folder, text=True, capture_output=True, timeout=120, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        report = subprocess.run([TIDEMARK, "report", "run.tide", "--format", "json"], cwd=self.folder, text=True,
                                capture_output=True, check=True)
        return done, json.loads(report.stdout)

    def test_the_report_agrees_with_the_trainers_own_account(self):
        for model in ("mlp", "vgg", "resnet", "unet", "lstm", "gru", "gpt", "bert"):
            done, report = self.recorded("--model", model, "--steps", "2", "--optimizer", "adam")
            own = int(re.search(r"^peak live +(\d+) bytes", done.stdout, re.M)[1])
            self.assertEqual(report["peak"]["live_bytes"], own, model)
            self.assertEqual(report["end_live_bytes"], 0, model)
            self.assertEqual(report["totals"]["allocations"], report["totals"]["frees"], model)
            self.assertLessEqual({"parameter", "optimizer", "input"},
                                 {kind for kind, size in report["peak"]["by_kind"].items() if size > 0}, model)
            self.assertNotIn("other", {kind for kind, size in report["peak"]["by_kind"].items() if size > 0}, model)
            self.assertNotIn("(unscoped)", {row["layer"] for row in report["layers"]}, model)
            self.assertEqual([step["step"] for step in report["steps"]][-2:], [1, 2], model)

    def test_layers_are_the_tables_own_names(self):
        _, report = self.recorded("--model", "gpt", "--steps", "1")
        names = {row["layer"] for row in report["layers"]}
        self.assertLessEqual({"embed", "h.0.attn", "h.3.fc", "head", "loss", "data"}, names)

    def test_recording_changes_no_value(self):
        alone = bare("--model", "resnet", *SMALL)
        self.assertEqual(alone.returncode, 0, alone.stderr)
        done, _ = self.recorded("--model", "resnet", *SMALL, options=("--execute",))
        self.assertEqual(losses(done.stdout), losses(alone.stdout))
        self.assertEqual(len(losses(alone.stdout)), 3)

    def test_a_batch_that_cannot_fit_ends_with_the_post_mortem_and_code_1(self):
        done, report = self.recorded("--model", "resnet", "--size", "152", "--batch", "256", code=1)
        self.assertIn("error: cudaErrorMemoryAllocation for", done.stderr)
        self.assertIn("verdict", done.stderr)
        self.assertIsNotNone(report["oom"])

    def test_checkpoints_make_it_fit(self):
        self.recorded("--model", "resnet", "--size", "152", "--batch", "64", code=1)
        self.recorded("--model", "resnet", "--size", "152", "--batch", "64", "--checkpoint", "sqrt", "--steps", "1")

    def test_mistakes_end_with_code_2_before_the_device_is_touched(self):
        for words, said in ((["--model", "nmt"], "error: no model 'nmt'"), (["--model", "mlp", "--batch", "0"], "error: --batch is"),
                            (["--model", "vgg", "--image", "4x4"], "does not fit")):
            done = bare(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(said, done.stderr)
        self.assertEqual(bare("--help").returncode, 0)


if __name__ == "__main__":
    TIDEMARK, TRAINER, SOFTGPU = map(os.path.abspath, sys.argv[1:4])
    unittest.main(argv=sys.argv[:1])
