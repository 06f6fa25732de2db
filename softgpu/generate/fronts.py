# SPDX-License-Identifier: Apache-2.0
"""The fronts of the exported names: what a tool that observes the API (CUPTI's client) sees of a call.

The public CUPTI headers give every entry point a callback id, most also a struct of its parameters. A name with an id gets
a front: the exported function, which calls the hand-written one (or the stub) under the name softgpu_impl_NAME and, while
somebody observes, tells the observer before and after. Names without an id are exported as they are.
"""
import dataclasses
import re

from cuda_headers import HeaderError
from emit import BANNER, parameter_names, prototype

IMPLEMENTATION = "softgpu_impl_"


@dataclasses.dataclass(frozen=True)
class Api:
    """What is known about one of the two observed APIs."""
    domain: str  # SoftgpuCall::domain
    ids_header: str
    id_prefix: str
    versioned: bool  # names in the header carry a version: cudaMalloc_v3020
    parameter_headers: tuple
    unobserved: str  # pattern of names that get no front


DRIVER = Api(domain="SOFTGPU_DRIVER_API", ids_header="cupti_driver_cbid.h", id_prefix="CUPTI_DRIVER_TRACE_CBID_",
             versioned=False, unobserved="$^",
             parameter_headers=("generated_cuda_meta.h", "generated_cudaGL_meta.h", "generated_cudaVDPAU_meta.h"))
# Unobserved: the glue between nvcc's host code and the runtime. It is not what a program calls, it runs before main(), and
# each launch would show as three calls more. The launch itself is observed.
RUNTIME = Api(domain="SOFTGPU_RUNTIME_API", ids_header="cupti_runtime_cbid.h", id_prefix="CUPTI_RUNTIME_TRACE_CBID_",
              versioned=True, unobserved=r"__cuda(?!LaunchKernel).*",
              parameter_headers=("generated_cuda_runtime_api_meta.h", "generated_cuda_gl_interop_meta.h",
                                 "generated_cuda_vdpau_interop_meta.h"))


@dataclasses.dataclass(frozen=True)
class Front:
    function: object  # cuda_headers.Function
    id: str  # enumerator of the callback id
    parameters: str  # the public struct, or ""


def enumerators(text, prefix):
    """{enumerator without the prefix: value}, from preprocessed text."""
    return {m[1]: int(m[2]) for m in re.finditer(rf"\b{prefix}(\w+)\s*=\s*(\d+)\b", text)}


def newest(names, versioned):
    """{plain name: name in the header}; of several versions the newest, whose signature is the one of today's headers."""
    found = {}
    for name in names:
        match = re.fullmatch(r"(\w+?)_v(\d+)", name) if versioned else None
        if versioned and not match:
            continue
        plain, version = (match[1], int(match[2])) if match else (name, 0)
        if plain not in found or found[plain][1] < version:
            found[plain] = (name, version)
    return {plain: name for plain, (name, _) in found.items()}


def fronts(api, functions, text):
    """[Front] for the public functions, sorted by name. text: the api's headers, preprocessed."""
    ids = newest(enumerators(text, api.id_prefix), api.versioned)
    structs = newest(re.findall(r"\}\s*(\w+)_params\s*;", text), api.versioned)
    if len(ids) < len(functions) * 0.9:
        raise HeaderError(f"{api.ids_header} names {len(ids)} functions, expected most of {len(functions)}")
    made = []
    for name in sorted(functions):
        if name not in ids or re.fullmatch(api.unobserved, name):
            continue
        if functions[name].result == "void":
            raise HeaderError(f"{name} returns nothing: a front gives a result")
        struct = structs.get(name, "")
        made.append(Front(functions[name], api.id_prefix + ids[name], struct + "_params" if struct else ""))
    return made


def names_header(made):
    """Renames the hand-written definitions. The compiler is told to include it before anything else."""
    text = BANNER + "#pragma once\n// SOFTGPU_PUBLIC_NAMES: this file means the exported functions, not what stands behind them.\n"
    text += "#ifndef SOFTGPU_PUBLIC_NAMES\n"
    text += "".join(f"#pragma redefine_extname {f.function.name} {IMPLEMENTATION}{f.function.name}\n" for f in made)
    return text + "#endif\n"


def parameter_struct(front):
    """A statement that defines `params`, and the expression that points at it."""
    function, names = front.function, parameter_names(front.function)
    if not names:
        return "", "nullptr"
    if front.parameters:
        return f"  {front.parameters} params{{{', '.join(names)}}};\n", "&params"
    # No public struct: the arguments in their order, as the public ones have them.
    fields = "".join(f"    {p.declared_as(n)};\n" for p, n in zip(function.parameters, names))
    return f"  struct {{\n{fields}  }} params{{{', '.join(names)}}};\n", "&params"


def front_text(front, api, status):
    """Three functions: what stands behind, the observed way to it, and the front, which only chooses and jumps."""
    function = front.function
    arguments = ", ".join(parameter_names(function))
    behind = dataclasses.replace(function, name=IMPLEMENTATION + function.name)
    watched = dataclasses.replace(function, name="watched_" + function.name)
    define, pointer = parameter_struct(front)
    is_status = "true" if function.result in status else "false"
    text = f'extern "C" __attribute__((visibility("hidden"))) {prototype(behind)};\n'
    text += f"__attribute__((noinline, cold)) static {prototype(watched)} {{\n{define}"
    text += f'  SoftgpuCall call{{{api.domain}, {front.id}, "{function.name}", {pointer}, nullptr, {is_status}, '
    text += f"__builtin_return_address(0), {{}}}};\n  return observed(call, [&] {{ return {behind.name}({arguments}); }});\n}}\n"
    text += f'extern "C" {prototype(function)} {{\n'
    return text + f"  return observer() == nullptr ? {behind.name}({arguments}) : {watched.name}({arguments});\n}}\n"


def fronts_source(made, api, status, includes):
    text = BANNER + "#define __CUDA_API_VERSION_INTERNAL\n#define CUDA_ENABLE_DEPRECATED\n"
    text += "#pragma GCC visibility push(default)\n"
    text += "".join(f"#include <{h}>\n" for h in includes)
    text += "#pragma GCC visibility pop\n"
    text += "".join(f"#include <{h}>\n" for h in (api.ids_header, *api.parameter_headers))
    text += '#include "softgpu/interface/front.h"\nusing namespace tidemark::softgpu;\n'
    return text + "".join(front_text(f, api, status) for f in made)


def id_rows(text):
    """Rows SOFTGPU_DRIVER_ID(id, name) and SOFTGPU_RUNTIME_ID(id, name), sorted by id, for whoever names callbacks."""
    rows = BANNER
    for api, macro in ((DRIVER, "SOFTGPU_DRIVER_ID"), (RUNTIME, "SOFTGPU_RUNTIME_ID")):
        by_id = {value: name for name, value in enumerators(text, api.id_prefix).items() if name not in ("INVALID", "SIZE")}
        if len(by_id) < 400:
            raise HeaderError(f"{api.ids_header}: {len(by_id)} callback ids")
        rows += "".join(f"{macro}({value}, {name})\n" for value, name in sorted(by_id.items()))
    return rows


def result_rows(text):
    """Rows SOFTGPU_CUPTI_RESULT(enumerator) for the error codes of CUPTI."""
    values = {m[1]: int(m[2]) for m in re.finditer(r"\b(CUPTI_(?:SUCCESS|ERROR_\w+))\s*=\s*(\d+)\b", text)}
    if len(values) < 40:
        raise HeaderError(f"cupti_result.h: {len(values)} error codes")
    return BANNER + "".join(f"SOFTGPU_CUPTI_RESULT({name})\n" for name in sorted(values, key=values.get))
