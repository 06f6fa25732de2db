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
sys.path[:0] = [str(ROOT / "softgpu" / "generate"), str(ROOT / "tools" / "lib")]
import cuda_headers as headers  # noqa: E402
import cuda_procs as procs  # noqa: E402
import emit  # noqa: E402
import fronts  # noqa: E402
import generate  # noqa: E402

CUDA = os.environ.get("CUDA_INCLUDE", "/usr/local/cuda/include")
CUPTI = os.environ.get("CUPTI_INCLUDE", CUDA)
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

    def test_twins_of_one_signature_are_told_apart_by_their_version(self):
        text = """int cuF(int a); int cuF_ptsz(int a); int cuF_v2(int a); int cuF_v2_ptsz(int a);
                  typedef int (*PFN_cuF_v8000)(int a); typedef int (*PFN_cuF_v11070)(int a);
                  typedef int (*PFN_cuF_v8000_ptsz)(int a); typedef int (*PFN_cuF_v11070_ptsz)(int a);"""
        self.assertEqual([(p.twin, p.twin_type) for p in self.table(text)],
                         [("cuF_ptsz", "PFN_cuF_v8000_ptsz"), ("cuF_v2_ptsz", "PFN_cuF_v11070_ptsz")])

    def test_const_of_a_parameter_itself_makes_no_other_type(self):
        text = "int cuG(E e, const E *p); typedef int (*PFN_cuG_v13030)(const E e, const E *p);"
        self.assertEqual([p.symbol for p in self.table(text)], ["cuG"])
        with self.assertRaises(headers.HeaderError):
            self.table(text.replace("v13030)(const E e, const E", "v13030)(const E e, E"))

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


class FrontsTest(unittest.TestCase):
    API = fronts.Api(domain="D", ids_header="ids.h", id_prefix="ID_", versioned=True, parameter_headers=(), unobserved="cuHidden")
    TEXT = """
        S cuA(int a, void *p); S cuB(void); S cuHidden(int); const char *cuC(int code);
        enum { ID_INVALID = 0, ID_cuA_v1000 = 1, ID_cuA_v2000 = 2, ID_cuB_v1000 = 3, ID_cuC_v1000 = 4, ID_cuHidden_v1000 = 5, ID_SIZE = 6 };
        typedef struct x { int a; } cuA_v1000_params; typedef struct y { int a; void *p; } cuA_v2000_params;
    """

    def made(self):
        return {f.function.name: f for f in fronts.fronts(self.API, parsed(self.TEXT), self.TEXT)}

    def test_the_newest_version_counts(self):
        made = self.made()
        self.assertEqual(sorted(made), ["cuA", "cuB", "cuC"])
        self.assertEqual((made["cuA"].id, made["cuA"].parameters), ("ID_cuA_v2000", "cuA_v2000_params"))

    def test_a_front_tests_and_jumps(self):
        text = fronts.front_text(self.made()["cuA"], self.API, ["S"])
        self.assertIn("cuA_v2000_params params{a, p};", text)
        self.assertIn("return observer() == nullptr ? softgpu_impl_cuA(a, p) : watched_cuA(a, p);", text)

    def test_arguments_without_a_public_struct_stand_in_their_order(self):
        text = fronts.front_text(self.made()["cuC"], self.API, ["S"])
        self.assertIn("int code;", text)
        self.assertIn('"cuC", &params, nullptr, false', text)
        self.assertIn('"cuB", nullptr, nullptr, true', fronts.front_text(self.made()["cuB"], self.API, ["S"]))

    def test_headers_without_ids_are_an_error(self):
        with self.assertRaises(headers.HeaderError):
            fronts.fronts(self.API, parsed(self.TEXT), "")

    def test_stubs_go_behind(self):
        text = emit.stubs(parsed("S cuA(int);"), "hook", ["S"], {}, [], {"cuA": "softgpu_impl_cuA"})
        self.assertIn('int softgpu_impl_cuA() { return hook("cuA"); }', text)


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

    @unittest.skipUnless(pathlib.Path(CUPTI, "cupti_driver_cbid.h").exists(), "no CUPTI headers here")
    def test_every_name_has_a_front_but_the_compilers_glue(self):
        for kind in ("driver", "runtime"):
            code, files, errors = self.generate(kind, "--fronts", "--include", CUPTI)
            self.assertEqual((code, errors), (0, ""))
            names = set(files[f"{kind}_names.txt"].split())
            renamed = set(re.findall(r"redefine_extname (\w+) softgpu_impl_\1\n", files[f"{kind}_public.h"]))
            self.assertEqual({n for n in names - renamed if not n.startswith("__cuda")}, set())
            self.assertEqual({n for n in renamed if n.startswith("__cuda")}, {n for n in names if n.startswith("__cudaLaunchKernel")})
            self.assertIn("softgpu_impl_", files[f"{kind}_stubs.cpp"])

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
