#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From entry_points.txt, the installed headers and the list of hooks to the rows and exported names of libtidemark.so."""
import argparse
import collections
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
LIB = HERE.parents[1] / "tools" / "lib"
sys.path[:0] = [str(HERE), str(LIB)]

import cuda_api  # noqa: E402
import cuda_headers  # noqa: E402
import doors  # noqa: E402
import order  # noqa: E402
import rows  # noqa: E402
import table  # noqa: E402


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the generated files")
    parser.add_argument("--hooks", type=pathlib.Path, required=True, help="file with the hooked symbols, one on a line")
    parser.add_argument("--own", type=pathlib.Path, required=True, help="file with the other exported symbols, one on a line")
    parser.add_argument("--table", type=pathlib.Path, default=table.PATH, help="the table (default: the one beside this program)")
    parser.add_argument("--compiler", default="c++", help="C++ compiler, with flags if need be")
    parser.add_argument("--include", action="append", default=[], help="folder with the toolkit's headers")
    parser.add_argument("--depfile", type=pathlib.Path, help="write the files read here, for the build tool")
    return parser.parse_args(arguments)


class Headers:
    """What the installed headers declare."""

    def __init__(self, compiler, include):
        self.dependencies = set()
        dirs = [cuda_headers.SHIMS, *include]
        self.preprocess = lambda names, defines: cuda_headers.preprocess(compiler.split(), names, dirs, defines, self.dependencies)
        driver = cuda_api.Api(**cuda_api.DRIVER, minimum=637)
        self.driver = cuda_api.read_functions(self.preprocess, driver)
        self.procs = collections.defaultdict(list)
        for proc in cuda_api.read_procs(self.preprocess, driver, self.driver):
            self.procs[proc.symbol].append(proc)
        self.runtime = cuda_api.read_functions(self.preprocess, cuda_api.Api(**cuda_api.RUNTIME, minimum=400))
        self.nvml = cuda_api.read_functions(self.preprocess, cuda_api.Api(**cuda_api.NVML, minimum=300))


def outputs(entries, hooked, own, headers):
    """{file name: text}"""
    is_hooked = set(hooked).__contains__
    made = {"driver_entries.inc": rows.driver(entries, headers.procs, headers.driver.__contains__),
            # Not only what these headers know: a name of a later 13.x, and of 12.x, is hooked all the same.
            "runtime_entries.inc": rows.runtime(entries, lambda name: True),
            "nvml_entries.inc": rows.nvml(entries, headers.nvml.__contains__),
            "hooked_driver_entries.inc": rows.driver(entries, headers.procs, is_hooked),
            "hooked_runtime_entries.inc": rows.runtime(entries, is_hooked),
            "hooked_nvml_entries.inc": rows.nvml(entries, is_hooked)}
    for name in ("driver_entries.inc", "runtime_entries.inc", "nvml_entries.inc"):
        if made[name] == rows.BANNER:
            raise table.TableError(f"no row for {name}")
    order_doors = order.doors(entries, set(hooked), headers.driver, headers.runtime)
    made |= {"hooked_names.inc": rows.names(entries, hooked, order_doors), "known_procs.inc": rows.known(entries),
             "hooked_procs.inc": rows.procs(entries, headers.procs, set(hooked), order_doors),
             "order_entries.inc": order.rows(order_doors), "order.S": order.assembly(order_doors)}
    return made | doors.exports(entries, hooked, own, order_doors)


def write(options, files, dependencies):
    options.out.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = options.out / name
        if not path.exists() or path.read_text() != text:  # an unchanged file is not compiled again
            path.write_text(text)
    if options.depfile:
        stamp = options.out / "entry_points.stamp"
        stamp.touch()
        read = sorted(str(p).replace(" ", "\\ ") for p in dependencies)
        options.depfile.write_text(f"{stamp}: " + " \\\n  ".join(read) + "\n")


def main(arguments):
    options = parse_arguments(arguments)
    try:
        entries = table.load(options.table)
        hooked, own = (doors.read_names(path.read_text()) for path in (options.hooks, options.own))
        wrong = doors.problems(entries, hooked)
        if wrong:
            raise table.TableError(f"{options.hooks}:\n  " + "\n  ".join(wrong))
        headers = Headers(options.compiler, options.include)
        files = outputs(entries, hooked, own, headers)
    except (OSError, table.TableError, cuda_headers.HeaderError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    write(options, files, headers.dependencies | {options.table, options.hooks, options.own, *HERE.glob("*.py"), *LIB.glob("cuda_*.py")})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
