#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes cuBLAS' entry points as calls of the templates that routines.txt names.

usage: generate_entries.py ROUTINES OUTPUT_FOLDER COMPILER -I... (include paths of cublas_v2.h)

One file <group>.inc per group, and skipped.inc for the declarations that take a handle and that no row matches.
"""
import pathlib
import re
import subprocess
import sys


def declarations(compiler, flags):
    """(name, parameter text, parameter names) of every cuBLAS function that takes a handle."""
    run = subprocess.run([compiler, "-E", "-P", "-x", "c++", *flags, "-"], input="#include <cublas_v2.h>\n",
                         capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"generate_entries: cannot read cublas_v2.h\n{run.stderr}")
    text = re.sub(r"\s+", " ", run.stdout)
    found = re.findall(r"cublasStatus_t (cublas\w+) ?\(([^;{}()]*)\) ?;", text)
    for name, params in found:
        if not params.strip().startswith("cublasHandle_t handle"):
            continue
        yield name, params.strip(), [re.search(r"(\w+)(?:\[\])?$", p.strip()).group(1) for p in params.split(",")]


def read_rows(path):
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            group, pattern, function = line.split()
            yield group, re.compile(pattern + r"$"), function


def entry(name, params, body):
    return f'extern "C" cublasStatus_t {name}({params}) {{ {body} }}\n'


def main():
    table, out, compiler, *flags = sys.argv[1:]
    rows = list(read_rows(pathlib.Path(table)))
    files = {group: [] for group, _, _ in rows}
    files["skipped"] = []
    used = set()
    for name, params, names in declarations(compiler, flags):
        base = re.sub(r"_64$", "", name)
        who = f'Entry{{{names[0]}, "{name}"}}'
        matches = [(row, row[1].match(base)) for row in rows if row[1].match(base)]
        if len(matches) > 1:
            sys.exit(f"generate_entries: {name} matches {len(matches)} rows")
        if not matches:
            unnamed = ", ".join(["cublasHandle_t handle", *(re.sub(r"\b\w+((?:\[\])?)$", r"\1", p.strip())
                                                            for p in params.split(",")[1:])])
            files["skipped"].append(entry(name, unnamed, f"return api::skip({who});"))
            continue
        (group, _, function), match = matches[0]
        used.add((group, function, match.re.pattern))
        if group != "manual":
            args = ", ".join([who, *(f"as({n})" for n in names[1:])])
            files[group].append(entry(name, params, f"return api::{match.expand(function)}({args});"))
    idle = [r[1].pattern for r in rows if (r[0], r[2], r[1].pattern) not in used]
    if idle:
        sys.exit(f"generate_entries: rows that match nothing: {idle}")
    folder = pathlib.Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    for group, lines in files.items():
        if group != "manual":
            (folder / f"{group}.inc").write_text("".join(lines))


main()
