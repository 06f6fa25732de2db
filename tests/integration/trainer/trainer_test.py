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

    def summary(self, *arguments, dry=False):
        done = bare(*arguments, "--format", "json", dry=dry)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("\n"), 1)
        return json.loads(done.stdout)

    def test_the_line_for_programs_says_what_a_trick_saves_and_that_it_changes_no_bit(self):
        model = ("--model", "resnet", *SMALL)
        plain = self.summary(*model)
        self.assertTrue(plain["executed"])
        self.assertEqual((plain["model"], plain["size"], plain["batch"], plain["steps"]), ("resnet", "tiny", 8, 3))
        self.assertEqual((len(plain["losses"]), len(plain["step_ns"]), plain["recomputed_flops"]), (3, 3, 0))
        self.assertEqual(plain["planned_peak_bytes"], plain["peak_live_bytes"])
        self.assertRegex(plain["gradients_hash"], "^[0-9a-f]{16}$")
        for trick in (("--checkpoint", "sqrt"), ("--checkpoint", "optimal"), ("--selective",),
                      ("--checkpoint", f"budget:{plain['planned_peak_bytes'] - 1}"), ("--step-in-backward",), ("--offload",)):
            with_it = self.summary(*model, *trick)
            for key in ("losses", "gradients_hash", "weights_hash", "parameters"):
                self.assertEqual(with_it[key], plain[key], trick)
            self.assertLessEqual(with_it["peak_live_bytes"], plain["peak_live_bytes"], trick)
            self.assertEqual(with_it["recompute_flops_ratio"] > 0, trick[0] in ("--checkpoint", "--selective"), trick)
        other = self.summary(*model, "--seed", "2")
        self.assertNotEqual(other["weights_hash"], plain["weights_hash"])
        self.assertNotEqual(other["gradients_hash"], plain["gradients_hash"])

    def test_a_dry_run_has_bytes_but_no_values(self):
        dry = self.summary("--model", "gpt", "--size", "124m", "--steps", "2", "--attention", "efficient", "--ce-chunk", "256", dry=True)
        self.assertEqual((dry["executed"], dry["losses"], dry["weights_hash"]), (False, None, None))
        self.assertEqual(dry["peak_live_bytes"], dry["planned_peak_bytes"])
        self.assertEqual(dry["parameters"], 124439808)

    def test_naive_fp16_loses_the_loss(self):
        words = ("--model", "gpt", "--layers", "1", "--width", "16", "--batch", "192", "--steps", "1", "--precision", "fp16")
        self.assertIsNone(self.summary(*words, "--naive-fp16")["losses"][0])
        self.assertAlmostEqual(self.summary(*words)["losses"][0], 6.24, delta=0.3)

    def test_new_tricks_agree_with_the_report(self):
        for words in (("--model", "gpt", "--attention", "efficient", "--ce-chunk", "32", "--optimizer", "adafactor"),
                      ("--model", "unet", "--checkpoint", "optimal", "--selective"),
                      ("--model", "bert", "--checkpoint", "budget:10MiB")):
            done, report = self.recorded(*words, "--steps", "2")
            own = int(re.search(r"^peak live +(\d+) bytes", done.stdout, re.M)[1])
            self.assertEqual(report["peak"]["live_bytes"], own, words)
            self.assertEqual(report["end_live_bytes"], 0, words)

    def test_a_budget_below_the_minimum_names_it(self):
        done = bare("--model", "resnet", "--size", "50", "--checkpoint", "budget:100MiB", dry=True)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        least = re.search(r"error: --checkpoint budget:104857600 is less than this training can do with: (\d+) bytes", done.stderr)
        self.assertIsNotNone(least, done.stderr)
        at_least = bare("--model", "resnet", "--size", "50", "--steps", "1", "--checkpoint", "budget:" + least[1], dry=True)
        self.assertEqual(at_least.returncode, 0, at_least.stderr)
        self.assertIn(f"peak live   {least[1]} bytes", at_least.stdout)

    def test_mistakes_end_with_code_2_before_the_device_is_touched(self):
        for words, said in ((["--model", "nmt"], "error: no model 'nmt'"), (["--model", "mlp", "--batch", "0"], "error: --batch is"),
                            (["--model", "vgg", "--image", "4x4"], "does not fit"), (["--model", "mlp", "--bathc", "3"], "unknown option"),
                            (["--model", "mlp", "--batch", "10", "--accumulate", "3"], "cannot be taken in 3 equal parts"),
                            (["--model", "unet", "--ce-chunk", "8"], "which this model does not end with")):
            done = bare(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(said, done.stderr)
        self.assertEqual(bare("--help").returncode, 0)


if __name__ == "__main__":
    TIDEMARK, TRAINER, SOFTGPU = map(os.path.abspath, sys.argv[1:4])
    unittest.main(argv=sys.argv[:1])
