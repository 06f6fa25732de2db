#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which files are ours: what git tracks or would track, else (an unpacked archive) everything outside build and deps.

As a program: sources.py [EXTENSION...] prints the paths from the root, each ended by a NUL byte."""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOT_OURS = {".git", "build", "deps", ".cache", "__pycache__"}


def _from_git(root):
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        answer = subprocess.run(command, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return [os.fsdecode(name) for name in answer.split(b"\0") if name]


def _from_walk(root):
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in NOT_OURS]
        found += [os.path.relpath(os.path.join(folder, name), root) for name in files if name not in NOT_OURS]
    return found


def list_sources(root=ROOT, extensions=()):
    """Paths from the root, sorted; files that git still lists but that are gone are left out."""
    names = _from_git(root) if (root / ".git").exists() else None
    if names is None:
        names = _from_walk(root)
    if extensions:
        names = [name for name in names if name.rsplit(".", 1)[-1] in extensions]
    return sorted(name for name in names if (root / name).is_file())


if __name__ == "__main__":
    sys.stdout.buffer.write(b"".join(os.fsencode(name) + b"\0" for name in list_sources(extensions=sys.argv[1:])))
