# SPDX-License-Identifier: Apache-2.0
"""Which headers make up a public C API of CUDA, and how all its functions are read out of them."""
import dataclasses

import cuda_headers
import cuda_procs

# The internal definition makes the headers declare every name, versions and twins included, without renaming macros.
# The other two readings must not show a name that this one lacks.
READINGS = (["__CUDA_API_VERSION_INTERNAL"], [], ["CUDA_API_PER_THREAD_DEFAULT_STREAM"])
# What nvcc's host code calls is declared for a CUDA compiler only. Not these: device code's own runtime (CDP2), and what
# the device linker defines in the program (Linked).
LAUNCH_READING = ["__CUDACC__", "__CUDA_INCLUDE_COMPILER_INTERNAL_HEADERS__"]
LAUNCH_NAMES = r"__cuda(?!CDP|DeviceSynchronizeDep|RegisterLinked)[A-Z]\w*"


@dataclasses.dataclass
class Api:
    headers: list
    names: str  # pattern of the public names
    minimum: int  # fewer names than this mean that the headers were not understood
    status: list = dataclasses.field(default_factory=list)  # result types that carry an error code
    extra: list = dataclasses.field(default_factory=list)  # public names that no header declares
    readings: tuple = ([],)
    typedef_headers: list = dataclasses.field(default_factory=list)
    launch_headers: list = dataclasses.field(default_factory=list)


# gl.h and vdpau.h are named because not every CUDA header that needs them includes them on every machine.
DRIVER = {
    "headers": ["cuda.h", "cudaProfiler.h", "GL/gl.h", "cudaGL.h", "cudaEGL.h", "vdpau/vdpau.h", "cudaVDPAU.h"],
    "typedef_headers": ["cudaTypedefs.h", "cudaProfilerTypedefs.h", "cudaGLTypedefs.h", "cudaEGLTypedefs.h", "cudaVDPAUTypedefs.h"],
    "names": r"cu[A-Z]\w*", "status": ["CUresult"], "readings": READINGS}
RUNTIME = {
    "headers": ["cuda_runtime_api.h", "cuda_profiler_api.h", "GL/gl.h", "cuda_gl_interop.h", "cuda_egl_interop.h", "vdpau/vdpau.h",
                "cuda_vdpau_interop.h"],
    # These are only whole for a CUDA compiler, and the last declares its functions when it is read for the second time.
    "launch_headers": ["cuda_runtime.h", "crt/device_functions.h", "crt/host_runtime.h", "crt/host_runtime.h"],
    # Named by cupti_runtime_cbid.h alone: host code of newer compilers may call them.
    "extra": ["__cudaRegisterHostVar", "__cudaRegisterUnifiedTable", "__cudaGetProcAddress"],
    "names": r"cuda[A-Z]\w*", "status": ["cudaError_t"], "readings": READINGS}
# Under this definition nvml.h declares the older forms of a function too, and renames none.
NVML = {"headers": ["nvml.h"], "names": r"nvml[A-Z]\w*", "status": ["nvmlReturn_t"],
        "readings": (["NVML_NO_UNVERSIONED_FUNC_DEFS"], [])}


def read_functions(preprocess, api):
    """Every public function of `api`, by name. preprocess(headers, definitions) gives the text."""
    found = {}
    for defines in api.readings:
        seen = cuda_headers.parse_functions(preprocess(api.headers, defines), api.names)
        odd = sorted(set(seen) - set(found)) if found else []
        if odd:
            raise cuda_headers.HeaderError(f"declared only with {defines}: {' '.join(odd)}")
        found = found or seen
    if api.launch_headers:
        found |= cuda_headers.parse_functions(preprocess(api.launch_headers, LAUNCH_READING), LAUNCH_NAMES)
    for name in api.extra:
        found.setdefault(name, cuda_headers.Function(name, api.status[0], ()))
    if len(found) < api.minimum:
        raise cuda_headers.HeaderError(f"found {len(found)} names matching {api.names} in {' '.join(api.headers)}, "
                                       f"expected {api.minimum} or more")
    return found


def read_procs(preprocess, api, functions):
    """[Proc] for every function of a driver API: which symbol answers (plain name, version)."""
    text = preprocess(api.headers + api.typedef_headers, READINGS[0])
    pointers = cuda_headers.parse_pointer_typedefs(text, r"PFN_cu\w+")
    return cuda_procs.proc_table(functions, pointers, cuda_headers.resolver(cuda_headers.parse_aliases(text)))
