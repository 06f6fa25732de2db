#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates softgpu's stubs, twins, tables and export lists from the toolkit's headers. See README.md beside this file."""
import argparse
import dataclasses
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
LIB = HERE.parents[1] / "tools" / "lib"
sys.path.insert(0, str(LIB))

import cuda_api  # noqa: E402
import cuda_headers as headers  # noqa: E402
import emit  # noqa: E402
import fronts  # noqa: E402


@dataclasses.dataclass
class Library(cuda_api.Api):
    node: str = ""  # symbol version, none when empty
    hook: str = "softgpu_not_supported"
    defines: list = dataclasses.field(default_factory=list)
    handwritten: list = dataclasses.field(default_factory=list)  # no stub; the library defines them
    returns: dict = dataclasses.field(default_factory=dict)
    api: str = ""  # our header that includes the vendor's, in the way that fits the library
    observed: object = None  # fronts.Api


DRIVER = Library(**cuda_api.DRIVER, minimum=637, observed=fronts.DRIVER)
RUNTIME = Library(**cuda_api.RUNTIME, minimum=400, api="softgpu/runtime/api.h", node="libcudart.so.13", hook="softgpu_runtime_not_supported",
                  handwritten=["cudaCreateChannelDesc"], observed=fronts.RUNTIME)


class Generator:
    def __init__(self, options, library):
        self.options, self.library = options, library
        self.dependencies = set(map(str, [*HERE.glob("*.py"), *LIB.glob("cuda_*.py")]))
        self.outputs = {}

    def preprocess(self, includes, defines):
        dirs = [headers.SHIMS, *self.options.include]
        return headers.preprocess(self.options.compiler.split(), includes, dirs, self.library.defines + defines, self.dependencies)

    def exported(self, functions):
        """The public names and those declared by our own headers."""
        names = set(functions) - set(self.options.hide)
        for header in self.options.export_header:
            text = headers.preprocess(self.options.compiler.split(), [header], self.options.include, [], self.dependencies)
            ours = headers.parse_functions(text, r"softgpu_\w+")
            if not ours:
                raise headers.HeaderError(f"{header} declares no softgpu_ function")
            names |= set(ours)
        return names

    def run(self):
        library, prefix = self.library, self.options.name
        functions = cuda_api.read_functions(self.preprocess, library)
        behind = {}  # public name: the name of what its front calls
        if library.observed and self.options.fronts:
            behind = self.make_fronts(functions)
        self.outputs[f"{prefix}_stubs.cpp"] = emit.stubs(functions, library.hook, library.status, library.returns, library.handwritten,
                                                            behind)
        self.outputs[f"{prefix}.map"] = emit.version_script(self.exported(functions), library.node)
        self.outputs[f"{prefix}_names.txt"] = "".join(f"{n}\n" for n in sorted(functions))
        if library.typedef_headers:
            table = cuda_api.read_procs(self.preprocess, library, functions)
            self.outputs[f"{prefix}_procs.inc"] = emit.proc_rows(table)
            checks = emit.proc_assertions(table, library.typedef_headers)
            self.outputs[f"{prefix}_twins.cpp"] = emit.twins(functions, library.headers, checks)
        elif library.launch_headers:
            launch = [n for n in functions if n.startswith("__") and n not in library.extra]
            self.outputs[f"{prefix}_launch.h"] = emit.launch_header(functions, launch, library.api)
            self.outputs[f"{prefix}_twins.cpp"] = emit.twins(functions, library.headers, f'#include "{prefix}_launch.h"\n')
        if self.options.observation_tables:
            text = self.preprocess(["cupti_result.h", fronts.DRIVER.ids_header, fronts.RUNTIME.ids_header], [])
            self.outputs[f"{prefix}_ids.inc"] = fronts.id_rows(text)
            self.outputs[f"{prefix}_results.inc"] = fronts.result_rows(text)
        self.write()

    def make_fronts(self, functions):
        """Writes the fronts; returns {public name: name of what stands behind it}."""
        library, prefix, api = self.library, self.options.name, self.library.observed
        text = self.preprocess([*library.headers, api.ids_header, *api.parameter_headers], cuda_api.READINGS[0])
        made = fronts.fronts(api, functions, text)
        own = [f"{prefix}_launch.h"] if library.launch_headers else []
        self.outputs[f"{prefix}_public.h"] = fronts.names_header(made)
        self.outputs[f"{prefix}_fronts.cpp"] = fronts.fronts_source(made, api, library.status, library.headers + own)
        return {f.function.name: fronts.IMPLEMENTATION + f.function.name for f in made}

    def write(self):
        out = self.options.out
        out.mkdir(parents=True, exist_ok=True)
        for name, text in self.outputs.items():
            path = out / name
            if not path.exists() or path.read_text() != text:  # an unchanged file is not compiled again
                path.write_text(text)
        if self.options.depfile:
            stamp = out / f"{self.options.name}.stamp"
            stamp.touch()
            self.options.depfile.write_text(emit.depfile([stamp], self.dependencies))


def parse_arguments(arguments):
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--compiler", default="c++", help="C++ compiler, with flags if need be")
    common.add_argument("--include", action="append", default=[], help="folder with headers (the toolkit's, the project's root)")
    common.add_argument("--out", type=pathlib.Path, required=True, help="folder for the generated files")
    common.add_argument("--name", help="prefix of the generated files (default: the kind)")
    common.add_argument("--depfile", type=pathlib.Path, help="write the headers read here, for the build tool")
    common.add_argument("--export-header", action="append", default=[], help="also export the softgpu_ functions declared here")
    common.add_argument("--fronts", action="store_true", help="driver and runtime: observable fronts (needs CUPTI's headers)")
    common.add_argument("--observation-tables", action="store_true", help="also write the names of CUPTI's callbacks and errors")
    common.add_argument("--hide", action="append", default=[], help="a public name to leave out of the export list")
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = parser.add_subparsers(dest="kind", required=True)
    kinds.add_parser("driver", parents=[common], help="libcuda.so.1: stubs, twins, table for cuGetProcAddress, export list")
    kinds.add_parser("runtime", parents=[common], help="libcudart.so.13: stubs, twins, version script")
    generic = kinds.add_parser("library", parents=[common], help="any other library: stubs and version script")
    generic.add_argument("--header", action="append", required=True)
    generic.add_argument("--names", required=True, help="pattern that a public name matches from end to end")
    generic.add_argument("--status", action="append", required=True, help="a result type that carries an error code")
    generic.add_argument("--minimum", type=int, required=True, help="fail when fewer names are found")
    generic.add_argument("--node", default="", help="symbol version node (default: none)")
    generic.add_argument("--hook", default="softgpu_not_supported", help="int hook(const char* name), called by each stub")
    generic.add_argument("--define", action="append", default=[])
    generic.add_argument("--extra", action="append", default=[], help="a public name that no header declares")
    generic.add_argument("--handwritten", action="append", default=[], help="a name that needs no stub")
    generic.add_argument("--returns", action="append", default=[], help="TYPE=C++ type of the same size, for odd result types")
    return parser.parse_args(arguments)


def library_from(options):
    if options.kind != "library":
        return {"driver": DRIVER, "runtime": RUNTIME}[options.kind]
    return Library(headers=options.header, names=options.names, status=options.status, minimum=options.minimum, node=options.node,
                   hook=options.hook, defines=options.define, extra=options.extra, handwritten=options.handwritten,
                   returns=dict(r.split("=", 1) for r in options.returns))


def main(arguments):
    options = parse_arguments(arguments)
    options.name = options.name or options.kind
    try:
        Generator(options, library_from(options)).run()
    except (headers.HeaderError, re.error) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
