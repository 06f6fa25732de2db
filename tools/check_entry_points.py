#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the interposer's table of entry points with the headers of one or more CUDA toolkits.

Fails on a name that a header declares and the table lacks, on a name outside of its versions, on a wrong stream
parameter or twin, and, given toolkits of CUDA 12 and 13, on a changed ABI that is not marked."""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "interpose" / "entry_points"), str(ROOT / "tools" / "lib")]

import compare  # noqa: E402
import cuda_api  # noqa: E402
import cuda_headers  # noqa: E402
import order  # noqa: E402
import table  # noqa: E402

APIS = {"driver": cuda_api.DRIVER, "runtime": cuda_api.RUNTIME, "nvml": cuda_api.NVML}


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", action="append", required=True, metavar="DIR[:DIR]",
                        help="the folders with a toolkit's headers; given again, another toolkit")
    parser.add_argument("--table", type=pathlib.Path, default=table.PATH, help="the table (default: the project's)")
    parser.add_argument("--compiler", default="c++", help="C++ compiler, with flags if need be")
    parser.add_argument("--minimum", type=int, default=250, help="fewer names in an API mean that its headers were not understood")
    return parser.parse_args(arguments)


class Toolkit:
    def __init__(self, options, folders):
        self.folders, self.options, self.notes = [pathlib.Path(f) for f in folders.split(":")], options, []
        self.version = self.read_version()

    def find(self, header):
        return next((f / header for f in self.folders if (f / header).is_file()), None)

    def read_version(self):
        cuda = self.find("cuda.h")
        number = re.search(r"^#define CUDA_VERSION (\d+)", cuda.read_text(), re.MULTILINE) if cuda else None
        if not number:
            raise cuda_headers.HeaderError(f"{':'.join(map(str, self.folders))}: no cuda.h with a CUDA_VERSION")
        return int(number[1]) // 1000, int(number[1]) % 1000 // 10

    def preprocess(self, names, defines):
        return cuda_headers.preprocess(self.options.compiler.split(), names, [cuda_headers.SHIMS, *self.folders], defines)

    def problems(self, entries, layer):
        """(number of names, problems, {name: type})"""
        if layer == "nvml" and not self.find("nvml.h"):
            self.notes.append("nvml.h is not there and was not compared")
            return 0, [], {}
        api = cuda_api.Api(**APIS[layer], minimum=self.options.minimum)
        functions = cuda_api.read_functions(self.preprocess, api)
        wrong = compare.unlisted(entries, layer, functions)
        # nvml.h may come from elsewhere and says no version: its ranges are compared where it stands beside cuda.h.
        if layer != "nvml" or self.find("nvml.h").parent == self.find("cuda.h").parent:
            real = {name: f for name, f in functions.items() if name not in api.extra}
            wrong += compare.outside_its_range(entries, layer, real, self.version)
        if layer != "nvml":  # between two toolkits nvml.h loses names that come back in the next one
            wrong += compare.missing(entries, layer, functions, self.version, api.extra)
        wrong += compare.marks(entries, layer, functions, self.version)
        wrong += order.wrong_slots(entries, layer, functions, self.version)
        if layer == "driver":
            wrong += compare.versions(entries, cuda_api.read_procs(self.preprocess, api, functions))
        return len(functions), wrong, self.types(api, functions) if layer == "runtime" else {}

    def types(self, api, functions):
        """{name: its type in words}, with the sizes of the structures that it is given: those change under the same name."""
        resolve = cuda_headers.resolver(cuda_headers.parse_aliases(self.preprocess(api.headers, api.readings[0])))
        public = {name: f for name, f in functions.items() if re.fullmatch(api.names, name)}
        structures = {name: sorted(set(re.findall(r"\bcuda[A-Z]\w*", f.signature()))) for name, f in public.items()}
        sizes = cuda_headers.sizes(self.options.compiler.split(), api.headers, [cuda_headers.SHIMS, *self.folders], api.readings[0],
                                   sorted(set().union(*structures.values())))
        return {name: f.signature(resolve) + "".join(f" {s}:{sizes[s]}" for s in structures[name]) for name, f in public.items()}


def main(arguments):
    options = parse_arguments(arguments)
    count, signatures = 0, {}
    try:
        entries = table.load(options.table)
        for folders in options.include:
            toolkit = Toolkit(options, folders)
            name, sizes = f"CUDA {toolkit.version[0]}.{toolkit.version[1]}", []
            for layer in APIS:
                size, wrong, types = toolkit.problems(entries, layer)
                for problem in wrong:
                    print(f"{name}: {layer}: {problem}")
                count += len(wrong)
                sizes.append(f"{layer} {size}")
                if layer == "runtime":
                    signatures[toolkit.version] = types
            print(f"{name}: {', '.join(sizes)} names" + "".join(f"; {n}" for n in toolkit.notes))
        changed = compare.changed_abis(entries, signatures)
    except (OSError, table.TableError, cuda_headers.HeaderError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for problem in changed:
        print(f"runtime: {problem}")
    count += len(changed)
    print(f"entry points: {len(entries)} names in the table, {count} problems")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
