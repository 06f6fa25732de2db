#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates softgpu's stubs, twins, tables and export lists from the toolkit's headers. See README.md beside this file."""
import argparse
import dataclasses
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools" / "lib"))

import cuda_headers as headers  # noqa: E402
import cuda_procs as procs  # noqa: E402
import emit  # noqa: E402
import fronts  # noqa: E402

# The internal definition makes the headers declare every name, versions and twins included, without renaming macros.
# The other two readings must not show a name that this one lacks.
READINGS = (["__CUDA_API_VERSION_INTERNAL"], [], ["CUDA_API_PER_THREAD_DEFAULT_STREAM"])


@dataclasses.dataclass
class Library:
    headers: list
    names: str  # pattern of the public names
    status: list  # result types that carry an error code
    minimum: int  # fewer names than this mean that the headers were not understood
    node: str = ""  # symbol version, none when empty
    hook: str = "softgpu_not_supported"
    defines: list = dataclasses.field(default_factory=list)
    extra: list = dataclasses.field(default_factory=list)  # public names that no header declares
    handwritten: list = dataclasses.field(default_factory=list)  # no stub; the library defines them
    returns: dict = dataclasses.field(default_factory=dict)
    readings: tuple = ([],)
    typedef_headers: list = dataclasses.field(default_factory=list)
    launch_headers: list = dataclasses.field(default_factory=list)
    api: str = ""  # our header that includes the vendor's, in the way that fits the library
    observed: object = None  # fronts.Api


# gl.h and vdpau.h are named because not every CUDA header that needs them includes them on every machine.
DRIVER = Library(
    headers=["cuda.h", "cudaProfiler.h", "GL/gl.h", "cudaGL.h", "cudaEGL.h", "vdpau/vdpau.h", "cudaVDPAU.h"],
    typedef_headers=["cudaTypedefs.h", "cudaProfilerTypedefs.h", "cudaGLTypedefs.h", "cudaEGLTypedefs.h", "cudaVDPAUTypedefs.h"],
    names=r"cu[A-Z]\w*", status=["CUresult"], minimum=637, readings=READINGS, observed=fronts.DRIVER)
RUNTIME = Library(
    headers=["cuda_runtime_api.h", "cuda_profiler_api.h", "GL/gl.h", "cuda_gl_interop.h", "cuda_egl_interop.h", "vdpau/vdpau.h",
             "cuda_vdpau_interop.h"],
    # What nvcc's host code calls. These headers are only whole for a CUDA compiler, and the last declares its functions
    # when it is read for the second time.
    launch_headers=["cuda_runtime.h", "crt/device_functions.h", "crt/host_runtime.h", "crt/host_runtime.h"],
    api="softgpu/runtime/api.h",
    # Named by cupti_runtime_cbid.h alone: host code of newer compilers may call them, so they exist and refuse.
    extra=["__cudaRegisterHostVar", "__cudaRegisterUnifiedTable", "__cudaGetProcAddress"],
    names=r"cuda[A-Z]\w*", status=["cudaError_t"], minimum=400, node="libcudart.so.13", hook="softgpu_runtime_not_supported",
    handwritten=["cudaCreateChannelDesc"], readings=READINGS, observed=fronts.RUNTIME)


class Generator:
    def __init__(self, options, library):
        self.options, self.library = options, library
        self.dependencies = set(map(str, [*HERE.glob("*.py"), headers.__file__, procs.__file__]))
        self.outputs = {}

    def preprocess(self, includes, defines):
        dirs = [headers.SHIMS, *self.options.include]
        return headers.preprocess(self.options.compiler.split(), includes, dirs, self.library.defines + defines, self.dependencies)

    def functions(self):
        """Every public function, by name."""
        found = {}
        for defines in self.library.readings:
            text = self.preprocess(self.library.headers, defines)
            seen = headers.parse_functions(text, self.library.names)
            odd = sorted(set(seen) - set(found)) if found else []
            if odd:
                raise headers.HeaderError(f"declared only with {defines}: {' '.join(odd)}")
            found = found or seen
        if self.library.launch_headers:
            text = self.preprocess(self.library.launch_headers, ["__CUDACC__", "__CUDA_INCLUDE_COMPILER_INTERNAL_HEADERS__"])
            # Not these: device code's own runtime (CDP2), and what the device linker defines in the program (Linked).
            found |= headers.parse_functions(text, r"__cuda(?!CDP|DeviceSynchronizeDep|RegisterLinked)[A-Z]\w*")
        for name in self.library.extra:
            found.setdefault(name, headers.Function(name, self.library.status[0], ()))
        if len(found) < self.library.minimum:
            raise headers.HeaderError(f"found {len(found)} names matching {self.library.names} in {' '.join(self.library.headers)}, "
                                      f"expected {self.library.minimum} or more")
        return found

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
        functions = self.functions()
        behind = {}  # public name: the name of what its front calls
        if library.observed and self.options.fronts:
            behind = self.make_fronts(functions)
        self.outputs[f"{prefix}_stubs.cpp"] = emit.stubs(functions, library.hook, library.status, library.returns, library.handwritten,
                                                            behind)
        self.outputs[f"{prefix}.map"] = emit.version_script(self.exported(functions), library.node)
        self.outputs[f"{prefix}_names.txt"] = "".join(f"{n}\n" for n in sorted(functions))
        if library.typedef_headers:
            text = self.preprocess(library.headers + library.typedef_headers, READINGS[0])
            pointers = headers.parse_pointer_typedefs(text, r"PFN_cu\w+")
            table = procs.proc_table(functions, pointers, headers.resolver(headers.parse_aliases(text)))
            self.outputs[f"{prefix}_procs.inc"] = emit.proc_rows(table)
            checks = emit.proc_assertions(table, library.typedef_headers)
            self.outputs[f"{prefix}_twins.cpp"] = emit.twins(functions, library.headers, checks)
        elif library.readings is READINGS:
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
        text = self.preprocess([*library.headers, api.ids_header, *api.parameter_headers], READINGS[0])
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
