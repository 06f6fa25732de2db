# SPDX-License-Identifier: Apache-2.0
"""Paths and folders that the tests of the table of entry points share."""
import contextlib
import io
import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path[:0] = [str(ROOT / "interpose" / "entry_points"), str(ROOT / "tools"), str(ROOT / "tools" / "lib")]

CUDA = os.environ.get("CUDA_INCLUDE", "/usr/local/cuda/include")
INCLUDES = list(dict.fromkeys([CUDA, os.environ.get("PROFILER_INCLUDE", CUDA), os.environ.get("NVML_INCLUDE", CUDA)]))
CXX = os.environ.get("CXX", "c++")
CC = os.environ.get("CC", "cc")


class WithFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


def run(main, arguments):
    """(exit code, what was said on both streams)"""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        code = main([str(a) for a in arguments])
    return code, said.getvalue()
