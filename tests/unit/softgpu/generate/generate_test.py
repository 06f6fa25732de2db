#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the header-driven generators: the parser on snippets, then the whole on the toolkit's headers."""
import contextlib
import io
import os
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "softgpu" / "generate"))
import emit  # noqa: E402
import generate  # noqa: E402
import headers  # noqa: E402
import procs  # noqa: E402

CUDA = os.environ.get("CUDA_INCLUDE", "/usr/local/cuda/include")
COMPILER = os.environ.get("CXX", "c++")


def parsed(text, names=r"cu\w+"):
    return headers.parse_functions(text, names)


class ParserTest(unittest.TestCase):
    def test_result_and_parameters_are_split(self):
        f = parsed("CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytes);")["cuMemAlloc_v2"]
        self.assertEqual(f.result, "CUresult")
        self.assertEqual([(p.type, p.name) for p in f.parameters], [("CUdeviceptr*", "dptr"), ("size_t", "bytes")])

    def test_unnamed_and_void_parameters(self):
        f = parsed("int cuA(void); int cuB(); int cuC(cuK *, const void *, unsigned int, struct S);")
        self.assertEqual(f["cuA"].parameters, ())
        self.assertEqual(f["cuB"].parameters, ())
        self.assertEqual([(p.type, p.name) for p in f["cuC"].parameters],
                         [("cuK*", ""), ("const void*", ""), ("unsigned int", ""), ("struct S", "")])

    def test_function_pointer_parameter_keeps_the_place_of_its_name(self):
        p = parsed("int cuF(void (*callback)(int, void *), int n);")["cuF"].parameters[0]
        self.assertEqual(p.name, "callback")
        self.assertEqual(p.declared_as("x"), "void(*x)(int, void*)")

    def test_array_parameter(self):
        p = parsed("int cuF(const char names[16]);")["cuF"].parameters[0]
        self.assertEqual(p.declared_as("x"), "const char x[16]")

    def test_attributes_defaults_and_linkage_are_ignored(self):
        f = parsed('extern "C" { extern __attribute__((host)) __attribute__((deprecated("a;b"))) int cuF(int a = 0, S s = {}); }')
        self.assertEqual([(p.type, p.name) for p in f["cuF"].parameters], [("int", "a"), ("S", "s")])
        self.assertEqual(f["cuF"].result, "int")

    def test_bodies_typedefs_and_variables_are_not_declarations(self):
        text = """
            static inline int cuInline(int a) { if (a) { return 1; } return cuCalled(a); }
            template <class T> int cuTemplate(T t, int n = 0) { return n; }
            struct S { int (*cuMember)(int); }; typedef int (*cuPointer)(int); enum cuE { cuX, cuY };
            namespace n { int cuInside(int); }
            static const int cuTable[] = {1, 2};
            int cuReal(int a);"""
        self.assertEqual(list(parsed(text)), ["cuReal"])

    def test_two_types_for_one_name_are_refused(self):
        with self.assertRaises(headers.HeaderError):
            parsed("int cuF(int); int cuF(long);")
        self.assertEqual(len(parsed("int cuF(int a); int cuF(int b);")), 1)

    def test_pointer_typedefs_and_aliases(self):
        text = """typedef unsigned long long P2; typedef P2 P; typedef struct T_st { int a; } T_v1; typedef T_v1 T;
                  typedef R ( *PFN_cuF_v3020)(P *p, const T *t);"""
        resolve = headers.resolver(headers.parse_aliases(text))
        pointer = headers.parse_pointer_typedefs(text, r"PFN_\w+")["PFN_cuF_v3020"]
        same = parsed("R cuF_v2(P2 *p, const struct T_st *t);")["cuF_v2"]
        self.assertEqual(pointer.signature(resolve), same.signature(resolve))


class ProcsTest(unittest.TestCase):
    TEXT = """int cuF(int a); int cuF_v2(long a); int cuF_v2_ptsz(long a); int cuG(void);
              typedef int (*PFN_cuF_v2000)(int a); typedef int (*PFN_cuF_v3020)(long a); typedef int (*PFN_cuF_v7000_ptsz)(long a);
              typedef int (*PFN_cuG_v9000)(void);"""

    def table(self, text):
        return procs.proc_table(parsed(text), headers.parse_pointer_typedefs(text, r"PFN_\w+"), lambda t: t)

    def test_versions_meet_symbols_in_order(self):
        rows = [(p.name, p.version, p.symbol, p.twin) for p in self.table(self.TEXT)]
        self.assertEqual(rows, [("cuF", 2000, "cuF", ""), ("cuF", 3020, "cuF_v2", "cuF_v2_ptsz"), ("cuG", 9000, "cuG", "")])

    def test_what_cannot_be_settled_is_an_error(self):
        for broken in (self.TEXT.replace("PFN_cuF_v2000)(int", "PFN_cuF_v2000)(char"),  # signatures differ
                       self.TEXT + "int cuF_v3(char a);",  # a symbol without a version
                       self.TEXT + "int cuH(char a);",  # a name without a typedef
                       self.TEXT.replace("_ptsz)(long", "_ptsz)(char")):  # a twin of another type
            with self.assertRaises(headers.HeaderError):
                self.table(broken)


class EmitTest(unittest.TestCase):
    def test_stub_results(self):
        f = parsed("S cuA(int); void cuB(int); const char *cuC(int); double cuD(int); void **cuE(int); Z cuF(int);")
        text = emit.stubs(f, "hook", ["S"], {"Z": "struct { int a; }"}, [])
        for line in ('int cuA() { return hook("cuA"); }', 'void cuB() { hook("cuB"); }', 'double cuD()', 'void* cuE()', 'Returned_Z cuF()'):
            self.assertIn(line, text)

    def test_an_unknown_result_is_an_error_unless_written_by_hand(self):
        f = parsed("Odd cuA(int);")
        with self.assertRaises(headers.HeaderError):
            emit.stubs(f, "hook", ["S"], {}, [])
        self.assertNotIn("cuA", emit.stubs(f, "hook", ["S"], {}, ["cuA"]))

    def test_version_script(self):
        self.assertIn("N.1 {", emit.version_script(["b", "a"], "N.1"))
        self.assertTrue(re.search(r"^\{$", emit.version_script(["a"], ""), re.MULTILINE))


class ToolkitTest(unittest.TestCase):
    def generate(self, *arguments):
        out = tempfile.TemporaryDirectory()
        self.addCleanup(out.cleanup)
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            code = generate.main([*arguments, "--compiler", COMPILER, "--include", CUDA, "--include", str(ROOT), "--out", out.name])
        files = {p.name: p.read_text() for p in pathlib.Path(out.name).iterdir()}
        return code, files, errors.getvalue()

    def test_driver(self):
        code, files, errors = self.generate("driver", "--export-header", "softgpu/interface/softgpu.h")
        self.assertEqual((code, errors), (0, ""))
        names = set(files["driver_names.txt"].split())
        graphics = {n for n in names if re.search(r"GL|VDPAU|Egl", n)}
        # 637 names are what the link stub of CUDA 13.0 exports; later toolkits only add.
        self.assertGreaterEqual(len(names - graphics), 637)
        self.assertLessEqual({"cuMemAlloc", "cuMemAlloc_v2", "cuMemcpy_ptds", "cuProfilerStart", "cuGetProcAddress_v2"}, names)
        self.assertIn("SOFTGPU_PROC(cuMemAlloc, 3020, cuMemAlloc_v2, nullptr)", files["driver_procs.inc"])
        self.assertIn("SOFTGPU_PROC(cuMemcpyAsync, 4000, cuMemcpyAsync, &cuMemcpyAsync_ptsz)", files["driver_procs.inc"])
        self.assertIn("    softgpu_submit;\n", files["driver.map"])
        self.assertNotIn("_ptsz()", files["driver_stubs.cpp"])

    def test_runtime(self):
        code, files, errors = self.generate("runtime")
        self.assertEqual((code, errors), (0, ""))
        names = set(files["runtime_names.txt"].split())
        self.assertLessEqual({"cudaMalloc", "cudaMemcpyAsync_ptsz", "cudaProfilerStart", "cudaGraphicsGLRegisterBuffer", "cudaEGLStreamConsumerConnect",
                              "cudaVDPAUGetDevice", "__cudaRegisterFatBinary", "__cudaPopCallConfiguration", "__cudaLaunchKernel_ptsz"}, names)
        self.assertIn("libcudart.so.13 {", files["runtime.map"])

    def test_headers_without_the_names_are_an_error(self):
        code, files, errors = self.generate("library", "--name", "x", "--header", "cuda.h", "--names", "nvml[A-Z]\\w*", "--status", "int",
                                            "--minimum", "1")
        self.assertEqual((code, files), (1, {}))
        self.assertIn("found 0 names", errors)

    def test_a_missing_header_is_an_error(self):
        code, _, errors = self.generate("library", "--name", "x", "--header", "no_such.h", "--names", "x", "--status", "int", "--minimum", "1")
        self.assertEqual(code, 1)
        self.assertIn("no_such.h", errors)


if __name__ == "__main__":
    unittest.main()
