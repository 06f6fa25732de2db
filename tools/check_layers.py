#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses an include that reaches into a folder it may not use. The rules are data: cmake/layers.txt.

usage: tools/check_layers.py [--root FOLDER]
Exit code 0: every include is allowed; 1: violations, one per line as file:line: what, and the way out."""
import argparse
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "lib"))
from sources import ROOT, list_sources  # noqa: E402

CODE = ("h", "hpp", "cuh", "c", "cc", "cpp", "cu", "inc", "in")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
# Folders whose headers are included from elsewhere than the root: clients write <tidemark/tidemark.h>.
PUBLIC = {"tidemark/": "interpose/include"}
CUDA_HEADER = re.compile(r"^(cuda|cublas|cupti|nvml|nvrtc|nvtx3/|cooperative_groups|driver_types|vector_types|crt/|generated_cuda)")
# Only these may know CUDA at all; the rest must build and be understood without it.
KNOWS_CUDA = ("softgpu", "kernels", "samples", "interpose", "allocator/cuda", "tests", "bench")


class LayersError(Exception):
    pass


def read_layers(path):
    """folder -> set of folders that it may use."""
    layers = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        folder, colon, uses = line.partition(":")
        if not colon or folder != folder.strip():
            raise LayersError(f"{path.name}:{number}: expected 'folder: what it may use', found '{line}'")
        if folder in layers:
            raise LayersError(f"{path.name}:{number}: a second row for {folder}")
        layers[folder] = set(uses.split())
    for folder, uses in layers.items():
        unknown = sorted(uses - set(layers) - {"*"})
        if unknown:
            raise LayersError(f"{path.name}: {folder} may use {', '.join(unknown)}, which has no row")
    refuse_cycles(path.name, layers)
    return layers


def refuse_cycles(name, layers):
    """Layers that may use each other in a ring are one layer."""
    finished = set()

    def visit(folder, trail):
        if folder in trail:
            raise LayersError(f"{name}: a ring: {' -> '.join(trail[trail.index(folder):] + [folder])}")
        if folder not in finished:
            for used in sorted(layers.get(folder, ())):
                visit(used, trail + [folder])
            finished.add(folder)

    for folder in layers:
        visit(folder, [])


def layer_of(path, layers):
    """The row that governs a path: the longest folder name that begins it. None outside all layers."""
    folder = path.rpartition("/")[0]
    while folder:
        if folder in layers:
            return folder
        folder = folder.rpartition("/")[0]
    return None


def within(folder, roots):
    return any(folder == root or folder.startswith(root + "/") for root in roots)


def problem_of(name, layer, quote, target, layers):
    """What is wrong with one include, or None."""
    if quote == "<":
        public = next((folder for start, folder in PUBLIC.items() if target.startswith(start)), None)
        if public is None:
            if CUDA_HEADER.match(target) and not within(layer, KNOWS_CUDA):
                return f"{layer}/ includes the CUDA header <{target}>; only {', '.join(KNOWS_CUDA)} may know CUDA"
            return None
        other = public
    else:
        tops = {folder.split("/")[0] for folder in layers}
        if target.split("/")[0] not in tops:
            return f'"{target}": write the path from the root, or <> for a header that is not ours'
        other = layer_of(target, layers)
        if other is None:
            return f'"{target}" is in no layer; give its folder a row in cmake/layers.txt'
    if other == layer or other in layers[layer] or "*" in layers[layer]:
        return None
    may = ", ".join(sorted(layers[layer])) or "nothing but itself"
    return f'{layer}/ may not use {other}/ ("{target}"); it may use {may}. Move the code down, or change cmake/layers.txt and say why in docs/decisions/'


def check(root, layers, names):
    """Returns (violations, number of files read)."""
    tops = {folder.split("/")[0] for folder in layers}
    violations, count = [], 0
    for name in names:
        if name.split("/")[0] not in tops:
            continue
        layer = layer_of(name, layers)
        if layer is None:
            violations.append(f"{name}: its folder is in no layer; give it a row in cmake/layers.txt")
            continue
        count += 1
        for number, line in enumerate((root / name).read_text(errors="replace").splitlines(), 1):
            match = INCLUDE.match(line)
            problem = match and problem_of(name, layer, match[1], match[2], layers)
            if problem:
                violations.append(f"{name}:{number}: {problem}")
    return violations, count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="another tree to check (for the check's own tests)")
    root = parser.parse_args().root
    try:
        layers = read_layers(root / "cmake/layers.txt")
    except (OSError, LayersError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    violations, count = check(root, layers, list_sources(root, CODE))
    for violation in violations:
        print(violation)
    print(f"layers: {count} files, {len(violations)} forbidden includes")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
