#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: cuda_include_paths.py BUILD-FOLDER

Does every file that includes a CUDA header name the folder it comes from? A machine may have CUDA's headers among the
system's own, where any compiler finds them; a target that forgets to ask for them then builds there and nowhere else.
Reads the commands of the build and follows the includes of our own files."""
import functools
import json
import pathlib
import re
import shlex
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
CUDA = re.compile(r"(cuda|cupti|cublas|nvml|nvtx|driver_types|vector_types|cooperative_groups)[\w/]*\.h$")


@functools.lru_cache(maxsize=None)
def cuda_headers(path):
    """The CUDA headers that a file of ours includes, itself or through others of ours."""
    found, to_read, seen = set(), [path], set()
    while to_read:
        here = to_read.pop()
        if here in seen or not here.is_file():
            continue
        seen.add(here)
        for bracket, name in INCLUDE.findall(here.read_text(errors="replace")):
            if bracket == '"':
                to_read += [ROOT / name, here.parent / name]
            elif CUDA.match(name):
                found.add(name)
    return frozenset(found)


def folders(command):
    words, found = iter(shlex.split(command)), []
    for word in words:
        for option in ("-isystem", "-I"):
            if word == option:
                found.append(next(words))
            elif word.startswith(option):
                found.append(word[len(option):])
    return [pathlib.Path(folder) for folder in found]


def main(build):
    problems = looked = 0
    for entry in json.loads((pathlib.Path(build) / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["directory"]) / entry["file"]
        if source.suffix == ".cu" or ROOT not in source.parents:
            continue  # nvcc knows its own headers
        headers = cuda_headers(source)
        looked += bool(headers)
        for header in sorted(headers):
            if not any((folder / header).exists() for folder in folders(entry["command"])):
                print(f"{source.relative_to(ROOT)}: {header} is in no folder of its command (SYSTEM tidemark_cuda_headers)")
                problems += 1
    print(f"CUDA include paths: {looked} files, {problems} problems")
    return 0 if looked and not problems else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
