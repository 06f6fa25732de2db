#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/check_entry_points.py: the installed headers agree with the table, and planted differences are found."""
import re
import unittest

import support  # first: it says where the others are

import check_entry_points
import compare
import cuda_headers
import table
from cuda_procs import Proc

TABLE = """
[driver order copy]
cuOld cuNew+:1@12.8 cuStruct:* cuLater=13010@13.2
[driver pass]
cuQuiet cuGone@..12.9
"""


def functions(*declarations):
    return cuda_headers.parse_functions("".join(f"int {d};" for d in declarations), r"cu\w+")


class CompareTest(unittest.TestCase):
    def setUp(self):
        self.entries = table.parse(TABLE)

    def test_a_name_that_is_not_listed(self):
        found = compare.unlisted(self.entries, "driver", functions("cuOld(int)", "cuFresh(int)", "cuNew_ptsz(int)"))
        self.assertEqual(found, ["cuFresh: declared, but not in the table"])
        self.assertEqual(len(compare.unlisted(self.entries, "runtime", functions("cuOld(int)"))), 1)

    def test_a_name_outside_of_its_toolkits(self):
        declared = functions("cuOld(int)", "cuNew(int, CUstream s)", "cuGone(int)")
        for version, expected in (((12, 4), ["cuNew"]), ((12, 8), []), ((13, 0), ["cuGone"]), ((13, 9), ["cuGone"])):
            found = compare.outside_its_range(self.entries, "driver", declared, version)
            self.assertEqual([f.split(":")[0] for f in found], expected, version)

    def test_a_listed_name_that_is_not_declared(self):
        declared = functions("cuOld(int)", "cuNew(int, CUstream s)", "cuStruct(int)", "cuQuiet(int)")
        self.assertEqual(compare.missing(self.entries, "driver", declared, (13, 0)), [])
        self.assertEqual(len(compare.missing(self.entries, "driver", declared, (12, 9))), 1)
        self.assertEqual(compare.missing(self.entries, "driver", declared, (12, 9), ["cuGone"]), [])
        self.assertEqual(compare.missing(self.entries, "driver", {}, (14, 0)), [])  # what goes later is not an error here

    def test_twins_and_streams(self):
        self.assertEqual(compare.marks(self.entries, "driver", functions("cuNew(int, CUstream s)", "cuNew_ptsz(int, CUstream s)"), (13, 0)), [])
        for declared, word in ((("cuNew(int, CUstream s)",), "twin is none"), (("cuOld(int)", "cuOld_ptds(int)"), "twin is cuOld_ptds"),
                               (("cuOld(CUstream s)",), "stream is parameter 0"), (("cuStruct(int, CUstream s)",), "stream is parameter 1"),
                               (("cuNew(CUstream s)", "cuNew_ptsz(CUstream s)"), "stream is parameter 0, in the table 1")):
            self.assertIn(word, " ".join(compare.marks(self.entries, "driver", functions(*declared), (13, 0))))

    def test_versions_of_get_proc_address(self):
        proc = lambda name, version, symbol: Proc(name, version, symbol, "", "")
        self.assertEqual(compare.versions(self.entries, [proc("cuNew", 12080, "cuNew"), proc("cuLater", 13010, "cuLater")]), [])
        self.assertEqual(len(compare.versions(self.entries, [proc("cuLater", 13020, "cuLater")])), 1)
        self.assertEqual(len(compare.versions(self.entries, [proc("cuElder", 12080, "cuNew")])), 1)

    def test_an_abi_that_changed_with_the_major_version(self):
        entries = table.parse("[runtime pass]\ncudaA cudaB!\n")
        same, other = {"cudaA": "int(int)", "cudaB": "int(int)"}, {"cudaA": "int(long)", "cudaB": "int(long)"}
        words = " ".join(compare.changed_abis(entries, {(12, 9): same, (13, 0): other}))
        self.assertIn("cudaA: its ABI differs", words)
        self.assertNotIn("cudaB", words)
        self.assertIn("cudaB: its ABI does not differ", " ".join(compare.changed_abis(entries, {(12, 9): same, (13, 0): same})))
        self.assertIn("2 types within CUDA 12", " ".join(compare.changed_abis(entries, {(12, 8): same, (12, 9): other})))


class SizesTest(unittest.TestCase):
    def test_sizes_of_complete_types_and_of_others(self):
        sizes = cuda_headers.sizes([support.CXX], ["cuda_runtime_api.h"], [support.CUDA], [], ["cudaUUID_t", "cudaGraphicsResource"])
        self.assertEqual(sizes, {"cudaUUID_t": 16, "cudaGraphicsResource": 0})


class ToolTest(support.WithFolder):
    def check(self, *arguments, includes=None):
        folders = ":".join(map(str, includes or support.INCLUDES))
        return support.run(check_entry_points.main, ["--compiler", support.CXX, "--include", folders, *arguments])

    def test_the_installed_headers_declare_nothing_that_the_table_lacks(self):
        code, said = self.check()
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"CUDA 1\d\.\d+: driver \d{3}, runtime \d{3}, nvml \d{3} names\n")

    def test_a_planted_declaration_is_found(self):
        self.write("cuda_runtime_api.h", '#include_next <cuda_runtime_api.h>\nextern "C" cudaError_t cudaPlantedMalloc(void **p, size_t n);\n')
        self.write("cudaProfiler.h", '#include_next <cudaProfiler.h>\nextern "C" CUresult cuPlantedAlloc(int n);\n')
        self.write("cudaProfilerTypedefs.h", "#include_next <cudaProfilerTypedefs.h>\ntypedef CUresult (*PFN_cuPlantedAlloc_v13000)(int n);\n")
        self.write("nvml.h", '#include_next <nvml.h>\nextern "C" nvmlReturn_t nvmlPlantedInfo(int n);\n')
        code, said = self.check(includes=[self.folder, *support.INCLUDES])
        self.assertEqual(code, 1)
        for layer, name in (("runtime", "cudaPlantedMalloc"), ("driver", "cuPlantedAlloc"), ("nvml", "nvmlPlantedInfo")):
            self.assertIn(f"{layer}: {name}: declared, but not in the table", said)
        self.assertIn(" 3 problems", said)

    def test_a_name_taken_out_of_the_table_is_found(self):
        text = table.PATH.read_text()
        for name in ("cuMemCreate", "cudaLaunchKernelExC", "nvmlDeviceGetMemoryInfo"):
            shorter = re.sub(rf"(?m)(?<=\s){name}[+:*]*(?=\s)", "", text)
            self.assertNotEqual(shorter, text)
            code, said = self.check("--table", self.write("table.txt", shorter))
            self.assertEqual(code, 1)
            self.assertIn(f"{name}: declared, but not in the table", said)

    def test_a_wrong_mark_in_the_table_is_found(self):
        text = table.PATH.read_text()
        code, said = self.check("--table", self.write("table.txt", text.replace("cudaMallocAsync+:2", "cudaMallocAsync:1")))
        self.assertEqual(code, 1)
        self.assertIn("cudaMallocAsync: its per-thread twin is cudaMallocAsync_ptsz, in the table none", said)
        self.assertIn("cudaMallocAsync: its stream is parameter 2, in the table 1", said)

    def test_headers_without_functions_are_an_error(self):
        for header in ("cuda.h", "cudaProfiler.h", "cudaGL.h", "cudaEGL.h", "cudaVDPAU.h"):
            self.write(header, "#define CUDA_VERSION 13000\n")
        code, said = self.check(includes=[self.folder])
        self.assertEqual(code, 1)
        self.assertIn("found 0 names", said)

    def test_a_folder_without_a_toolkit_is_an_error(self):
        code, said = self.check(includes=[self.folder])
        self.assertEqual(code, 1)
        self.assertIn("no cuda.h", said)


if __name__ == "__main__":
    unittest.main()
