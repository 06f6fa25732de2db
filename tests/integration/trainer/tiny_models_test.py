#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every model in its own tiny size learns, in fp32, fp16 and bf16, plainly and with all tricks that fit together.

usage: tiny_models_test.py TRAINER SOFTGPU_FOLDER"""
import json
import os
import subprocess
import sys
import unittest

TRAINER, SOFTGPU = None, None
# Steps and rate. Of bert's words one in seven is judged, out of 512: it learns slowly.
MODELS = {"mlp": (12, 2e-3), "vgg": (16, 2e-3), "resnet": (12, 2e-3), "unet": (10, 2e-3), "lstm": (20, 2e-3), "gru": (20, 2e-3),
          "gpt": (24, 2e-3), "bert": (90, 1e-3)}
TRICKS = ["--checkpoint", "optimal", "--selective", "--inplace", "--del-early", "--accumulate", "2"]


def losses(model, *more):
    steps, rate = MODELS[model]
    words = [TRAINER, "--model", model, "--steps", str(steps), "--optimizer", "adam", "--lr", str(rate), "--format", "json", *more]
    environment = dict(os.environ, LD_LIBRARY_PATH=SOFTGPU, SOFTGPU_QUIET="1", SOFTGPU_DRY_RUN="0")
    done = subprocess.run(words, env=environment, text=True, capture_output=True, timeout=300, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)["losses"]


class TinyModels(unittest.TestCase):
    def expect_to_fall(self, values):
        self.assertNotIn(None, values)
        share = max(3, len(values) // 6)
        self.assertLess(sum(values[-share:]), (0.95 if len(values) > 30 else 0.9) * sum(values[:share]))

    def test_the_loss_falls(self):
        for model in MODELS:
            for precision in ("fp32", "fp16", "bf16"):
                with self.subTest(model=model, precision=precision):
                    self.expect_to_fall(losses(model, "--precision", precision))

    def test_and_with_tricks(self):
        for model in MODELS:
            with self.subTest(model=model):
                more = ["--attention", "efficient"] if model in ("gpt", "bert") else []
                more += [] if model == "unet" else ["--ce-chunk", "64"]
                self.expect_to_fall(losses(model, *TRICKS, *more))


if __name__ == "__main__":
    TRAINER, SOFTGPU = map(os.path.abspath, sys.argv[1:3])
    unittest.main(argv=sys.argv[:1])
