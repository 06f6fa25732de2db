#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps the prose true: every folder says what lives in it, links lead somewhere, and the commands shown to a reader
exist and answer.

usage: tools/check_docs.py [--root FOLDER]

Commands are taken from ```sh blocks. A program of ours is asked for --help; a preset must be in CMakePresets.json; what
a build makes is only checked for the preset it names."""
import argparse
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "lib"))
from sources import ROOT, list_sources  # noqa: E402

# Folders that stand in the design whether or not anything is in them yet.
PARTS = "base trace allocator interpose softgpu kernels samples analysis cli viewer tests bench docs tools cmake".split()
OUTSIDE = {"git", "cd", "rm", "sudo", "sh"}  # commands of the reader's machine
FENCE = re.compile(r"^```(\w*)\s*$")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def folders_to_describe(root):
    rows = (line.partition(":")[0] for line in (root / "cmake/layers.txt").read_text().splitlines())
    return sorted(set(PARTS) | {row for row in rows if re.match(r"[a-z]", row)})


def check_folders(root):
    for folder in folders_to_describe(root):
        readme = root / folder / "README.md"
        if not readme.is_file():
            yield f"{folder}/README.md: missing; say in a line what lives in {folder}/"
        elif not any(len(line) > 20 and not line.startswith("#") for line in readme.read_text().splitlines()):
            yield f"{folder}/README.md: says nothing about what lives there"


def check_links(root, name, text):
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:|#", target):
            continue
        path = (root / name).parent / target.split("#")[0]
        if not path.exists():
            yield f"{name}: the link to {target} leads nowhere"


def commands_of(text):
    """(line number, command) of each line in the ```sh blocks, comments left out, continued lines joined."""
    language, joined, start = None, "", 0
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if fence:
            language = None if language is not None else fence[1]
        elif language == "sh":
            start = start or number
            joined += line.rstrip("\\") if line.endswith("\\") else line
            if not line.endswith("\\"):
                for command in re.split(r"&&|;|\|", joined):
                    words = shlex.split(command, comments=True)
                    if words:
                        yield start, words
                joined, start = "", 0


def preset_names(root):
    presets = json.loads((root / "CMakePresets.json").read_text())
    return {preset["name"] for preset in presets["configurePresets"]}


def answers_help(root, program):
    environment = dict(os.environ, LANG="C.UTF-8")
    run = subprocess.run([str(root / program), "--help"], capture_output=True, env=environment, timeout=20, check=False)
    return run.returncode == 0 and run.stdout


def problem_of(root, words):
    while words and re.match(r"[A-Z_]+=", words[0]):
        words = words[1:]
    if not words or words[0] in OUTSIDE:
        return None
    program = words[0].removeprefix("./")
    if program in ("cmake", "ctest"):
        asked = [words[i + 1] for i, word in enumerate(words[:-1]) if word == "--preset"]
        unknown = [name for name in asked if name not in preset_names(root)]
        return f"no preset {unknown[0]} in CMakePresets.json" if unknown else None
    if program.startswith("build/"):
        preset = program.split("/")[1]
        return None if preset in preset_names(root) else f"{program}: no preset {preset}"
    if not os.access(root / program, os.X_OK):
        return f"{program}: no such program"
    return None if answers_help(root, program) else f"{program} --help does not answer"


def check(root):
    problems = list(check_folders(root))
    for name in list_sources(root, ("md",)):
        text = (root / name).read_text()
        problems += check_links(root, name, text)
        for number, words in commands_of(text):
            problem = problem_of(root, words)
            if problem:
                problems.append(f"{name}:{number}: {problem}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="another tree to check (for the check's own tests)")
    root = parser.parse_args().root
    problems = check(root)
    for problem in problems:
        print(problem)
    print(f"docs: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
