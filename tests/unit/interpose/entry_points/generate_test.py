#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The generator of the interposer's rows and exported names: on planted tables, on the toolkit's headers, and linked."""
import ctypes
import re
import subprocess
import unittest

import support  # first: it says where the others are

import cuda_headers
import doors
import generate
import order
import rows
import table
from cuda_procs import Proc

TABLE = """
[driver serve device]
cuAlloc_v2
[driver order copy]
cuCopy+:1 cuSync+
[driver order host]
cuLater_v2+:0=13010@13.2
[driver pass]
cuAlloc
[runtime serve device]
cudaAlloc
[runtime order copy]
cudaCopy+:8!7 cudaGone@..12.9 cudaFresh+:1@13.0
[nvml translate info]
nvmlInfo
[libc resolve]
dlsym
"""
HOOKED = ["dlsym", "cuAlloc_v2", "cuCopy", "cuCopy_ptsz", "cudaAlloc", "cudaCopy", "cudaCopy_ptsz", "cudaGone", "cudaFresh", "cudaFresh_ptsz", "nvmlInfo"]
OWN = ["tidemark_own"]


class HookedNamesTest(unittest.TestCase):
    def setUp(self):
        self.entries = table.parse(TABLE)

    def test_a_good_list_has_no_problems(self):
        self.assertEqual(doors.problems(self.entries, HOOKED), [])

    def test_comments_and_empty_lines_are_left_out(self):
        self.assertEqual(doors.read_names("# all\ncuA  # why\n\ncuB\n"), ["cuA", "cuB"])

    def test_bad_lists_are_refused(self):
        for hooked, word in ((["cuUnknown"], "not in entry_points.txt"), (["cuAlloc"], "its action is pass"), (["cuCopy"], "twin cuCopy_ptsz has none"),
                             (["cuAlloc_v2", "cuAlloc_v2"], "listed twice"), (["cuSync_ptsz"], "not in entry_points.txt"), ([], "no hooked symbol")):
            self.assertIn(word, " ".join(doors.problems(self.entries, hooked)))


class ReasonsTest(unittest.TestCase):
    def setUp(self):
        self.entries = table.parse("[driver account pool]\ncuA cuB\n[driver order copy]\ncuC\n[driver pass]\ncuD\n[nvml translate info]\nnvmlE\n[runtime serve device]\ncudaF\n")

    def test_hooks_doors_and_reasons_make_up_all_names_that_are_not_passed(self):
        self.assertEqual(doors.gaps(self.entries, ["cuA"], {"cuB": "later", "nvmlE": "later"}), [])

    def test_a_name_without_either_and_a_name_with_both_are_found(self):
        self.assertEqual(doors.gaps(self.entries, ["cuA"], {"nvmlE": "later"}), ["cuB: neither a hook nor a reason for none"])
        self.assertEqual(len(doors.gaps(self.entries, ["cuA"], {"cuA": "x", "cuB": "x", "cuC": "x", "cuD": "x", "cuX": "x", "nvmlE": "x"})), 4)

    def test_reasons_are_read_by_section(self):
        self.assertEqual(doors.read_reasons("# all\n[too old]\ncuA cuB # both\n[not ours]\ncuC\n"), {"cuA": "too old", "cuB": "too old", "cuC": "not ours"})
        for text in ("cuA\n", "[]\ncuA\n", "[x]\ncuA\n[y]\ncuA\n"):
            with self.assertRaises(table.TableError):
                doors.read_reasons(text)


class RowsTest(unittest.TestCase):
    def setUp(self):
        self.entries = table.parse(TABLE)
        self.procs = {"cuAlloc_v2": [Proc("cuAlloc", 3020, "cuAlloc_v2", "", "")],
                      "cuCopy": [Proc("cuCopy", 4000, "cuCopy", "cuCopy_ptsz", "PFN_cuCopy_v7000_ptsz"),
                                 Proc("cuCopy", 6000, "cuCopy", "cuCopy_ptsz", "PFN_cuCopy_v7000_ptsz")]}

    def test_driver_rows(self):
        text = rows.driver(self.entries, self.procs, {"cuAlloc_v2", "cuCopy", "cuCopy_ptsz"}.__contains__)
        self.assertEqual(text.splitlines()[1:], [
            "TIDEMARK_DRIVER_ENTRY(cuAlloc_v2, cuAlloc, 3020, 0, Serve, Device, -1)",
            "TIDEMARK_DRIVER_ENTRY(cuCopy, cuCopy, 4000, cuCopy_ptsz, Order, Copy, 1)",
            "TIDEMARK_DRIVER_ENTRY(cuCopy, cuCopy, 6000, cuCopy_ptsz, Order, Copy, 1)",
            "TIDEMARK_DRIVER_TWIN(cuCopy_ptsz, cuCopy, 7000, cuCopy, Order, Copy, 1)",
            "TIDEMARK_DRIVER_TWIN(cuCopy_ptsz, cuCopy, 7000, cuCopy, Order, Copy, 1)"])

    def test_a_symbol_of_a_later_toolkit_has_name_and_version_from_the_table(self):
        text = rows.driver(self.entries, self.procs, lambda name: name.startswith("cuLater"))
        self.assertIn("TIDEMARK_DRIVER_ENTRY(cuLater_v2, cuLater, 13010, cuLater_v2_ptsz, Order, Host, 0)\n", text)
        self.assertIn("TIDEMARK_DRIVER_TWIN(cuLater_v2_ptsz, cuLater, 13010, cuLater_v2, Order, Host, 0)\n", text)

    def test_runtime_rows_say_where_the_name_is_and_whether_its_abi_is_the_same(self):
        text = rows.runtime(self.entries, lambda name: True)
        for row in ("ENTRY(cudaAlloc, 0, Serve, Device, -1, -1, Same)", "ENTRY(cudaCopy, cudaCopy_ptsz, Order, Copy, 8, 7, Changed)",
                    "TWIN(cudaCopy_ptsz, cudaCopy, Order, Copy, 8, 7, Changed)", "ENTRY(cudaGone, 0, Order, Copy, -1, -1, Only12)",
                    "ENTRY(cudaFresh, cudaFresh_ptsz, Order, Copy, 1, 1, Only13)"):
            self.assertIn(f"TIDEMARK_RUNTIME_{row}\n", text)

    def test_nvml_rows(self):
        self.assertIn("TIDEMARK_NVML_ENTRY(nvmlInfo, Translate, Info)\n", rows.nvml(self.entries, lambda name: True))


def function(declaration):
    (made,) = cuda_headers.parse_functions(f"int {declaration};", r"cu\w+").values()
    return made


class OrderTest(unittest.TestCase):
    def test_a_parameter_is_found_by_the_rules_of_the_abi(self):
        for declaration, index, slot in (
                ("cuA(CUstream s)", 0, 0), ("cuA(int a, void* b, CUstream s)", 2, 2),
                ("cuA(int a, int b, int c, int d, int e, int f, CUstream s)", 6, 6), ("cuA(int a, int b, int c, int d, int e, int f, int g, CUstream s)", 7, 7),
                ("cuA(void* f, dim3 a, dim3 b, void** c, size_t d, cudaStream_t s)", 5, 7),  # two registers each; d is the first on the stack
                ("cuA(dim3 a, dim3 b, size_t c, cudaStream_t s)", 3, 5),
                ("cuA(int a, int b, int c, int d, int e, dim3 f, cudaStream_t s)", 6, 5),  # no half of f goes into the last register
                ("cuA(struct cudaPitchedPtr a, int b, struct cudaExtent c, cudaStream_t s)", 3, 1),  # large ones lie on the stack
                ("cuA(struct cudaPitchedPtr a, int b, int c, int d, int e, int f, int g, CUstream s)", 7, 10),
                ("cuA(CUdeviceptr a, size_t b, CUmemLocation c, unsigned int d, CUstream s)", 4, 4)):
            self.assertEqual(order.slot_of(function(declaration), index), slot, declaration)

    def test_an_unknown_type_is_an_error(self):
        with self.assertRaises(cuda_headers.HeaderError):
            order.slot_of(function("cuA(struct Strange a, CUstream s)"), 1)

    def test_the_structures_are_as_large_as_it_says(self):
        runtime = [name for name in order.AGGREGATES if not name.startswith("CU")]
        driver = [name for name in order.AGGREGATES if name.startswith("CU")]
        sizes = cuda_headers.sizes([support.CXX], ["cuda_runtime_api.h"], [support.CUDA], [], runtime)
        sizes |= cuda_headers.sizes([support.CXX], ["cuda.h"], [support.CUDA], [], driver)
        self.assertEqual(sizes, order.AGGREGATES)

    def test_every_order_entry_has_a_door_for_each_library_and_twin_unless_it_is_hooked(self):
        made = order.doors(table.parse(TABLE), {"cuCopy", "cuCopy_ptsz"}, {}, {})
        self.assertEqual([(d.symbol, d.library, d.slot, d.per_thread) for d in made], [
            ("cuLater_v2", "Driver", 0, False), ("cuLater_v2_ptsz", "Driver", 0, True), ("cuSync", "Driver", -1, False), ("cuSync_ptds", "Driver", -1, True),
            ("cudaCopy", "Runtime12", 8, False), ("cudaCopy_ptsz", "Runtime12", 8, True), ("cudaGone", "Runtime12", -1, False),
            ("cudaCopy", "Runtime13", 7, False), ("cudaCopy_ptsz", "Runtime13", 7, True), ("cudaFresh", "Runtime13", 1, False),
            ("cudaFresh_ptsz", "Runtime13", 1, True)])

    def test_a_declared_function_decides_where_its_stream_is_and_an_older_abi_of_the_name_does_not(self):
        entries = table.parse("[runtime order launch]\ncudaPush+:3\n[runtime order copy]\ncudaMove:1!3\n")
        declared = {"cudaPush": function("cudaPush(dim3 a, dim3 b, size_t c, cudaStream_t s)"),
                    "cudaMove": function("cudaMove(dim3 a, int b, int c, cudaStream_t s)")}
        slots = {(d.symbol, d.library): d.slot for d in order.doors(entries, set(), {}, declared)}
        self.assertEqual(slots, {("cudaPush", "Runtime12"): 5, ("cudaPush", "Runtime13"): 5, ("cudaPush_ptsz", "Runtime12"): 5,
                                 ("cudaPush_ptsz", "Runtime13"): 5, ("cudaMove", "Runtime12"): 1, ("cudaMove", "Runtime13"): 4})

    def test_headers_that_contradict_what_is_taken_for_granted_are_told(self):
        entries = table.parse("[runtime order copy]\ncudaLater:1@13.2 cudaMoved:1!2\n")
        wide = {"cudaLater": function("cudaLater(dim3 a, cudaStream_t s)"), "cudaMoved": function("cudaMoved(dim3 a, int b, cudaStream_t s)")}
        self.assertEqual(len(order.wrong_slots(entries, "runtime", wide, (13, 2))), 1)
        self.assertEqual(order.wrong_slots(entries, "runtime", {"cudaLater": function("cudaLater(int a, cudaStream_t s)")}, (13, 2)), [])
        self.assertEqual(len(order.wrong_slots(entries, "runtime", {"cudaMoved": function("cudaMoved(dim3 a, cudaStream_t s)")}, (12, 8))), 1)


class LookupRowsTest(unittest.TestCase):
    def setUp(self):
        self.entries = table.parse(TABLE)
        self.doors = order.doors(self.entries, set(HOOKED), {}, {})

    def test_names_are_sorted_and_hooked_or_have_a_door(self):
        lines = rows.names(self.entries, HOOKED, self.doors).splitlines()[1:]
        symbols = [re.search(r"\((\w+)", line)[1] for line in lines]
        self.assertEqual(symbols, sorted(symbols))
        self.assertIn("TIDEMARK_HOOKED_NAME(cudaCopy, Runtime12, tidemark_hook12_cudaCopy)", lines)
        self.assertIn("TIDEMARK_HOOKED_NAME(nvmlInfo, Nvml, tidemark_hook_nvmlInfo)", lines)
        self.assertIn("TIDEMARK_ORDER_NAME(cuSync_ptds, Driver, 3)", lines)
        self.assertNotIn("dlsym", " ".join(symbols))

    def test_questions_to_the_driver_are_sorted_by_their_plain_name(self):
        procs = {"cuAlloc_v2": [Proc("cuAlloc", 3020, "cuAlloc_v2", "", "")], "cuCopy": [Proc("cuCopy", 4000, "cuCopy", "cuCopy_ptsz", "PFN_cuCopy_v7000_ptsz")]}
        self.assertEqual(rows.procs(self.entries, procs, set(HOOKED), self.doors).splitlines()[1:5], [
            "TIDEMARK_HOOKED_PROC(cuAlloc, 3020, false, cuAlloc_v2, tidemark_hook_cuAlloc_v2)",
            "TIDEMARK_HOOKED_PROC(cuCopy, 4000, false, cuCopy, tidemark_hook_cuCopy)",
            "TIDEMARK_HOOKED_PROC(cuCopy, 7000, true, cuCopy_ptsz, tidemark_hook_cuCopy_ptsz)",
            "TIDEMARK_ORDER_PROC(cuLater, 13010, false, cuLater_v2, 0)"])

    def test_passed_names_are_known_too(self):
        self.assertEqual(rows.known(self.entries).splitlines()[1:], [f"TIDEMARK_KNOWN_PROC({n})" for n in ("cuAlloc", "cuCopy", "cuLater", "cuSync")])


class DoorsTest(support.WithFolder):
    """The exported names in a real library: what is visible, and where a call arrives."""

    def link(self):
        files = doors.exports(table.parse(TABLE), HOOKED, OWN)
        assembly = files["exports.S"], files["dlsym_exports.S"]
        hooks = sorted(set(re.findall(r"\btidemark_hook\w+", "".join(assembly))))
        source = "void tidemark_own(void) {} void left_visible(void) {}\n"
        source += "".join(f'__attribute__((visibility("hidden"))) long {h}(long a, long b) {{ return a * 100 + b + {i * 10000}; }}\n'
                         for i, h in enumerate(hooks))
        library = self.folder / "libdoors.so"
        sources = [self.write("hooks.c", source), *(self.write(f"exports{i}.S", text) for i, text in enumerate(assembly))]
        script = self.write("exports.map", files["exports.map"])
        subprocess.run([support.CC, "-shared", "-fPIC", *sources, f"-Wl,--version-script={script}", "-Wl,-z,defs", "-o", library], check=True)
        return library, hooks

    def test_the_library_for_the_other_door_has_no_dlsym(self):
        script = doors.exports(table.parse(TABLE), HOOKED, OWN)["soname_exports.map"]
        self.assertNotIn("GLIBC", script)
        self.assertIn("  cuAlloc_v2;\n", script)
        self.assertIn("libcudart.so.12 { };\n", script)

    def test_only_the_hooked_names_and_our_own_are_visible(self):
        library, _ = self.link()
        listed = subprocess.run(["readelf", "--dyn-syms", "-W", library], capture_output=True, text=True, check=True).stdout
        visible = {words[7] for words in map(str.split, listed.splitlines()) if len(words) >= 8 and words[3] == "FUNC" and words[6] != "UND"}
        self.assertEqual(visible, {
            "dlsym@GLIBC_2.2.5", "dlsym@@GLIBC_2.34", "cuAlloc_v2@@TIDEMARK_1", "cuCopy@@TIDEMARK_1", "cuCopy_ptsz@@TIDEMARK_1",
            "nvmlInfo", "tidemark_own@@TIDEMARK_1", "cudaAlloc@libcudart.so.12",
            "cudaAlloc@@libcudart.so.13", "cudaCopy@libcudart.so.12", "cudaCopy@@libcudart.so.13", "cudaCopy_ptsz@libcudart.so.12",
            "cudaCopy_ptsz@@libcudart.so.13", "cudaGone@libcudart.so.12", "cudaFresh@@libcudart.so.13", "cudaFresh_ptsz@@libcudart.so.13"})

    def test_a_call_arrives_at_the_hook_of_its_version_with_its_arguments(self):
        path, hooks = self.link()
        library = ctypes.CDLL(str(path))
        dlvsym = ctypes.CDLL(None).dlvsym
        dlvsym.restype, dlvsym.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
        call = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long, ctypes.c_long)

        def arrived(name, version):
            value = call(dlvsym(library._handle, name.encode(), version.encode()))(3, 4)
            self.assertEqual(value % 10000, 304)
            return hooks[value // 10000]

        self.assertEqual(arrived("cudaAlloc", "libcudart.so.12"), "tidemark_hook12_cudaAlloc")
        self.assertEqual(arrived("cudaAlloc", "libcudart.so.13"), "tidemark_hook13_cudaAlloc")
        self.assertEqual(arrived("dlsym", "GLIBC_2.2.5"), "tidemark_hook_dlsym")
        self.assertEqual(arrived("dlsym", "GLIBC_2.34"), "tidemark_hook_dlsym")
        self.assertEqual(hooks[library.cudaCopy(0, 0) // 10000], "tidemark_hook13_cudaCopy")  # without a version: the newest
        self.assertEqual(hooks[library.cuCopy_ptsz(0, 0) // 10000], "tidemark_hook_cuCopy_ptsz")


class ToolkitTest(support.WithFolder):
    def generate(self, hooked, *arguments, includes=None):
        hooks, own = self.write("hooked_names.txt", "\n".join(hooked) + "\n"), self.write("own_names.txt", "tidemark_own\n")
        places = [word for folder in (includes or support.INCLUDES) for word in ("--include", folder)]
        code, said = support.run(generate.main, ["--out", self.folder / "out", "--hooks", hooks, "--own", own, "--compiler", support.CXX, *places, *arguments])
        out = self.folder / "out"
        return code, {p.name: p.read_text() for p in out.iterdir()} if out.exists() else {}, said

    def test_all_files_from_the_installed_headers(self):
        depfile = self.folder / "d"
        code, files, said = self.generate(["cuMemAlloc_v2", "cudaMalloc", "cuLaunchHostFunc_v2", "cuLaunchHostFunc_v2_ptsz"], "--depfile", depfile)
        self.assertEqual((code, said), (0, ""))
        driver = files["driver_entries.inc"]
        for row in ("ENTRY(cuMemAlloc_v2, cuMemAlloc, 3020, 0, Serve, Device, -1)", "TWIN(cuMemcpyAsync_ptsz, cuMemcpyAsync, 7000, cuMemcpyAsync, Order, Copy, 3)",
                    "ENTRY(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease, 7000, 0, Invalidate, Context, -1)",
                    "TWIN(cuStreamWriteValue64_ptsz, cuStreamWriteValue64, 9000, cuStreamWriteValue64, Order, Stream, 0)"):
            self.assertIn(f"TIDEMARK_DRIVER_{row}\n", driver)
        self.assertNotIn("Pass", driver)
        self.assertGreater(driver.count("TIDEMARK_DRIVER_ENTRY"), 200)
        self.assertIn("ENTRY(cudaMemPrefetchAsync, cudaMemPrefetchAsync_ptsz, Order, Managed, 3, 4, Changed)\n", files["runtime_entries.inc"])
        self.assertIn("nvmlDeviceGetMemoryInfo_v2", files["nvml_entries.inc"])
        hooked = files["hooked_driver_entries.inc"]
        self.assertEqual([line.split("(")[1].split(",")[0] for line in hooked.splitlines()[1:]],
                         ["cuLaunchHostFunc_v2", "cuMemAlloc_v2", "cuLaunchHostFunc_v2_ptsz"])
        self.assertIn("door cuMemAlloc_v2, tidemark_hook_cuMemAlloc_v2\n", files["exports.S"])
        self.assertIn("libcudart.so.12 { };\n", files["exports.map"])
        self.assertIn("entry_points.txt", depfile.read_text())

    def test_every_symbol_of_the_driver_rows_is_declared_with_that_spelling(self):
        _, files, _ = self.generate(["cudaMalloc"])
        symbols = sorted(set(re.findall(r"_(?:ENTRY|TWIN)\((\w+)", files["driver_entries.inc"])))
        source = "#define __CUDA_API_VERSION_INTERNAL\n" + "".join(
            f"#include <{h}>\n" for h in ("cuda.h", "cudaProfiler.h", "GL/gl.h", "cudaGL.h", "cudaEGL.h", "vdpau/vdpau.h", "cudaVDPAU.h"))
        source += "".join(f"static_assert(sizeof(&{s}) == sizeof(void*));\n" for s in symbols)
        command = [support.CXX, "-fsyntax-only", "-w", "-x", "c++", "-std=c++20", f"-I{generate.LIB / 'cuda_shims'}", *(f"-I{d}" for d in support.INCLUDES)]
        done = subprocess.run([*command, "-"], input=source, text=True, capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr[:400]), (0, ""))

    def test_a_bad_list_of_hooks_ends_the_build_and_writes_nothing(self):
        for hooked, word in ((["cuMemAlloc"], "its action is pass"), (["cuInvented"], "not in entry_points.txt"), (["# nobody"], "no hooked symbol"),
                             (["cuMemcpyAsync"], "twin cuMemcpyAsync_ptsz has none")):
            code, files, said = self.generate(hooked)
            self.assertEqual((code, files), (1, {}))
            self.assertIn(word, said)

    def test_a_table_without_rows_and_headers_without_names_are_errors(self):
        code, files, said = self.generate(["cudaA"], "--table", self.write("table.txt", "[runtime serve device]\ncudaA\n"))
        self.assertEqual((code, files), (1, {}))
        self.assertIn("no row for driver_entries.inc", said)
        for header in ("cuda.h", "cudaProfiler.h", "cudaGL.h", "cudaEGL.h", "cudaVDPAU.h"):
            self.write(header, "")
        code, files, said = self.generate(["cudaMalloc"], includes=[self.folder])
        self.assertEqual((code, files), (1, {}))
        self.assertIn("found 0 names", said)


class OwnHooksTest(unittest.TestCase):
    def test_every_name_of_the_driver_and_of_nvml_is_hooked_or_there_is_a_reason(self):
        folder = support.ROOT / "interpose"
        hooked = doors.read_names((folder / "hooked_names.txt").read_text())
        self.assertEqual(doors.gaps(table.load(), hooked, doors.read_reasons((folder / "not_hooked.txt").read_text())), [])

    def test_every_hook_of_the_project_has_an_action(self):
        lists = sorted((support.ROOT / "interpose").rglob("hooked_names.txt"))
        if not lists:
            self.skipTest("no hooks yet")
        entries = table.load()
        for path in lists:
            self.assertEqual(doors.problems(entries, doors.read_names(path.read_text())), [], path)


if __name__ == "__main__":
    unittest.main()
