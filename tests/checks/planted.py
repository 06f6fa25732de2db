# SPDX-License-Identifier: Apache-2.0
"""A small tree with planted mistakes, and a way to run a check over it."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAYERS = """# a comment
base:
trace/format: base
trace/write: trace/format base
trace/read: trace/format base
interpose/include:
interpose: interpose/include trace/write base
analysis: trace/read base
analysis/report: analysis base
tests: *
"""


class PlantedTree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("cmake/layers.txt", LAYERS)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run_check(self, name):
        """(exit code, output) of tools/NAME over the planted tree."""
        command = [sys.executable, str(ROOT / "tools" / name), "--root", str(self.root)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        return run.returncode, run.stdout + run.stderr
