# SPDX-License-Identifier: Apache-2.0
"""Compares the table with what the headers of one toolkit declare. Every function returns a list of problems in words."""
import re

import table

STREAMS = ("CUstream", "cudaStream_t", "struct CUstream_st*")


def unlisted(entries, layer, functions):
    return [f"{name}: declared, but not in the table" for name in sorted(functions)
            if (entry := table.find(entries, name)) is None or entry.layer != layer]


def outside_its_range(entries, layer, functions, version):
    found = []
    for entry in entries.values():
        # What the newest toolkit in the table has may be in every later one.
        end = table.LAST if version > table.LAST else version
        if entry.layer == layer and entry.name in functions and not entry.in_toolkit(end):
            found.append(f"{entry.name}: declared in {version[0]}.{version[1]}, which is outside of its range in the table")
    return found


def missing(entries, layer, functions, version, not_declared=()):
    if version > table.LAST:
        return []
    return [f"{e.name}: in the table for {version[0]}.{version[1]}, but not declared" for e in entries.values()
            if e.layer == layer and e.in_toolkit(version) and e.name not in functions and e.name not in not_declared]


def stream_parameter(function):
    return next((i for i, p in enumerate(function.parameters) if p.type in STREAMS), table.NO_STREAM)


def marks(entries, layer, functions, version):
    """Twins and stream parameters of the names that are not passed."""
    found = []
    for entry in entries.values():
        if entry.layer != layer or entry.action == "pass" or not (function := functions.get(entry.name)):
            continue
        twin = next((t for t in (entry.name + "_ptsz", entry.name + "_ptds") if t in functions), "")
        if entry.twin != twin:
            found.append(f"{entry.name}: its per-thread twin is {twin or 'none'}, in the table {entry.twin or 'none'}")
        in_table = entry.stream_12 if version[0] == 12 else entry.stream
        declared = stream_parameter(function)
        if max(in_table, table.NO_STREAM) != declared:
            found.append(f"{entry.name}: its stream is parameter {declared}, in the table {in_table}")
    return found


def versions(entries, procs):
    """Versions of cuGetProcAddress, as far as the table gives them: they are used where the headers lack the name."""
    found = []
    for proc in procs:
        entry = entries.get(proc.symbol)
        if entry and entry.action != "pass" and entry.version and proc.version != entry.version:
            found.append(f"{proc.symbol}: cuGetProcAddress has it from {proc.version} on, in the table {entry.version}")
        if entry and entry.action != "pass" and re.sub(r"_v\d+$", "", proc.symbol) != proc.name:
            found.append(f"{proc.symbol}: its plain name is {proc.name}, which does not follow from the symbol")
    return found


def changed_abis(entries, signatures):
    """signatures: {toolkit's version: {runtime name: its type in words, with sizes of structures}}."""
    found = []
    for entry in entries.values():
        known = {v: s[entry.name] for v, s in signatures.items() if entry.name in s}
        by_major = {major: {s for v, s in known.items() if v[0] == major} for major in (12, 13)}
        for major, seen in by_major.items():
            if len(seen) > 1:
                found.append(f"{entry.name}: {len(seen)} types within CUDA {major}: {' | '.join(sorted(seen))}")
        if all(by_major.values()) and (by_major[12] != by_major[13]) != entry.changed:
            word = ("differs", "does not") if not entry.changed else ("does not differ", "does")
            found.append(f"{entry.name}: its ABI {word[0]} between 12 and 13, in the table it {word[1]}")
    return found
