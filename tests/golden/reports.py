#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports of the sample traces, compared with the ones kept in tests/golden/reports.

usage: reports.py --tidemark PROGRAM --make-samples PROGRAM [--update]

With --update the kept ones are written anew; tools/update_goldens does that."""
import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

KEPT = pathlib.Path(__file__).resolve().parent / "reports"
# name of the kept file -> arguments of `tidemark report`
CASES = {
    "training.txt": ["training.tide"],
    "training-by-layer.txt": ["training.tide", "--by", "layer", "--top", "20"],
    "training-by-phase.txt": ["training.tide", "--by", "phase", "--at", "step:0"],
    "training-features.txt": ["training.tide", "--layer", "features.*", "--kind", "activation"],
    "training.json": ["training.tide", "--format", "json", "--timeline", "8", "--top", "3"],
    "unmarked.txt": ["unmarked.tide"],
    "oom.txt": ["oom.tide"],
    "oom.json": ["oom.tide", "--format", "json", "--top", "1"],
    "served.txt": ["served.tide"],
    "served.json": ["served.tide", "--format", "json", "--top", "2"],
    "framework.txt": ["framework.tide"],
    "ringed.txt": ["ringed.tide"],
    "ringed.json": ["ringed.tide", "--format", "json", "--top", "2"],
    "several.txt": ["training.tide", "oom.tide"],
}


def report(tidemark, folder, arguments):
    environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8"}
    done = subprocess.run([tidemark, "report", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return re.sub(r'"tidemark": "[^"]*"', '"tidemark": "VERSION"', done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tidemark", required=True, type=pathlib.Path)
    parser.add_argument("--make-samples", required=True, type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    given = parser.parse_args()
    different = 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([given.make_samples.resolve(), folder], check=True)
        for name, arguments in CASES.items():
            made, kept = report(given.tidemark.resolve(), folder, arguments), KEPT / name
            if given.update:
                kept.write_text(made)
                continue
            before = kept.read_text() if kept.exists() else ""
            if made != before:
                different += 1
                sys.stdout.writelines(difflib.unified_diff(before.splitlines(True), made.splitlines(True), f"kept/{name}", f"made/{name}"))
    if different:
        print(f"{different} of {len(CASES)} reports differ; if they should: tools/update_goldens")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
