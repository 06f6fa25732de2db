#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses what no file of a portable project holds: a path of somebody's machine, the address of a package registry
(pip and apt have their own configuration), a source file without its licence line, a header without its guard.

usage: tools/check_text.py [--root FOLDER]"""
import argparse
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "lib"))
from sources import ROOT, list_sources  # noqa: E402

# A path counts where it begins a word: "tests/work/x" is not one.
FORBIDDEN = (
    (re.compile(r"(?<![\w./~$}>*-])/(?:root|work|workspace|Users|mnt|srv)/[\w.-]"), "an absolute path of one machine"),
    (re.compile(r"(?<![\w./~$}>*-])/home/(?!user\b|you\b|me\b)\w"), "an absolute path of one machine"),
    (re.compile(r"pypi\.org|pythonhosted\.org|pkg\.dev\b|artifactor[y]|pypi\.nvidia|conda\.anaconda"), "a package registry's address"),
    (re.compile(r"(?:deb|archive|ports|security)\.(?:debian\.org|ubuntu\.com)"), "a package mirror's address"),
)
LICENCE = "SPDX-License-Identifier: Apache-2.0"
NEED_LICENCE = ("h", "c", "cpp", "cu", "cuh", "py", "sh")
BINARY = ("png", "tide", "pickle", "gz", "zst", "bin")
# Inputs for programs, not text of ours.
NOT_TEXT = ("tests/fuzz/corpus/", "LICENSE")


def is_script(text):
    return text.startswith("#!")


def problems_of(name, text):
    """(line number, what) for one file."""
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, what in FORBIDDEN:
            match = pattern.search(line)
            if match:
                yield number, f"{what}: {match[0].strip()}"
    suffix = name.rsplit(".", 1)[-1]
    if (suffix in NEED_LICENCE or is_script(text)) and LICENCE not in "\n".join(text.splitlines()[:3]):
        yield 1, f"no licence line; put '{LICENCE}' into the first comment"
    if suffix in ("h", "cuh") and "#pragma once" not in text:
        yield 1, "no #pragma once"


def check(root, names):
    violations = []
    for name in names:
        if name.startswith(NOT_TEXT) or name.rsplit(".", 1)[-1] in BINARY:
            continue
        try:
            text = (root / name).read_text()
        except UnicodeDecodeError:
            violations.append(f"{name}: not UTF-8 text")
            continue
        violations += [f"{name}:{number}: {what}" for number, what in problems_of(name, text)]
    return violations


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="another tree to check (for the check's own tests)")
    root = parser.parse_args().root
    names = list_sources(root)
    violations = check(root, names)
    for violation in violations:
        print(violation)
    print(f"text: {len(names)} files, {len(violations)} problems")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
