#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: symbols_test.py OUR_LIBRARY NAMES NODE [VENDOR_LIBRARY]

OUR_LIBRARY exports every name in the file NAMES under the version NODE, and nothing else. Where VENDOR_LIBRARY exists,
the names that it shares with NAMES carry the same version there.
"""
import pathlib
import subprocess
import sys


def exported(library):
    """name -> version of every defined dynamic symbol."""
    text = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    symbols = (line.split()[-1].split("@@") for line in text.splitlines())
    return {parts[0]: parts[1] if len(parts) > 1 else "" for parts in symbols}


def main():
    library, names_file, node, *vendor = sys.argv[1:]
    ours = exported(library)
    names = set(pathlib.Path(names_file).read_text().split())
    problems = [f"missing: {n}" for n in sorted(names - set(ours))]
    problems += [f"not declared in a header: {n}" for n in sorted(set(ours) - names - {node})]
    problems += [f"version {ours[n]!r} instead of {node!r}: {n}" for n in sorted(names & set(ours)) if ours[n] != node]
    if not names:
        problems.append("no names at all")
    if vendor and pathlib.Path(vendor[0]).exists():
        theirs = exported(vendor[0])
        shared = names & set(theirs)
        problems += [f"the vendor's version is {theirs[n]!r}: {n}" for n in sorted(shared) if theirs[n] != node]
        print(f"{len(shared)} of {len(names)} names compared with {vendor[0]}")
    else:
        print("no vendor library here: versions not compared")
    print("\n".join(problems))
    return 1 if problems else 0


sys.exit(main())
