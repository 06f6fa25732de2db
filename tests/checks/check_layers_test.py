# SPDX-License-Identifier: Apache-2.0
import unittest

from planted import LAYERS, PlantedTree


class CheckLayers(PlantedTree):
    def accepts(self):
        code, output = self.run_check("check_layers.py")
        self.assertEqual(code, 0, output)

    def refuses(self, *words):
        code, output = self.run_check("check_layers.py")
        self.assertEqual(code, 1, output)
        for word in words:
            self.assertIn(word, output)

    def test_allowed_includes_pass(self):
        self.write("base/bytes.h", "#pragma once\n#include <string>\n")
        self.write("trace/read/reader.cpp", '#include "trace/read/reader.h"\n#include "trace/format/record.h"\n#include "base/bytes.h"\n')
        self.write("interpose/hooks.cpp", "#include <cuda.h>\n#include <tidemark/tidemark.h>\n")
        self.accepts()

    def test_sideways_include_is_named_with_file_line_and_rule(self):
        self.write("trace/read/reader.cpp", '\n#include "trace/write/chunk.h"\n')
        self.refuses("trace/read/reader.cpp:2:", "trace/read/ may not use trace/write/", "it may use base, trace/format")

    def test_upward_include_is_refused(self):
        self.write("base/log.cpp", '#  include "analysis/peak.h"\n')
        self.refuses("base/log.cpp:1:", "nothing but itself")

    def test_the_longest_folder_name_decides(self):
        self.write("analysis/report/text.cpp", '#include "analysis/peak.h"\n')
        self.accepts()
        self.write("analysis/peak.cpp", '#include "analysis/report/text.h"\n')
        self.refuses("analysis/ may not use analysis/report/")

    def test_an_include_without_its_path_is_refused(self):
        self.write("base/log.cpp", '#include "log.h"\n')
        self.refuses("base/log.cpp:1:", "write the path from the root")

    def test_the_public_header_is_a_layer_though_it_is_included_with_brackets(self):
        self.write("analysis/peak.cpp", "#include <tidemark/tidemark.h>\n")
        self.refuses("analysis/ may not use interpose/include/")

    def test_cuda_headers_stay_with_those_who_know_cuda(self):
        for header in ("cuda.h", "cuda_runtime.h", "cublas_v2.h", "nvml.h", "cupti.h"):
            self.write("analysis/peak.cpp", f"#include <{header}>\n")
            self.refuses(f"<{header}>", "may know CUDA")

    def test_tests_may_use_anything(self):
        self.write("tests/unit/x.cpp", '#include "trace/read/a.h"\n#include "trace/write/b.h"\n#include <cuda.h>\n')
        self.accepts()

    def test_a_folder_without_a_row_is_refused(self):
        self.write("trace/extra/x.cpp", "int x;\n")
        self.refuses("trace/extra/x.cpp", "no layer")

    def test_a_ring_in_the_table_is_refused(self):
        self.write("cmake/layers.txt", LAYERS.replace("base:\n", "base: analysis\n"))
        self.refuses("a ring:", "base -> analysis")

    def test_an_unknown_name_in_the_table_is_refused(self):
        self.write("cmake/layers.txt", LAYERS + "cli: analisys\n")
        self.refuses("analisys", "no row")

    def test_a_line_that_is_no_row_is_refused(self):
        self.write("cmake/layers.txt", LAYERS + "cli analysis\n")
        self.refuses("layers.txt:11:", "expected 'folder: what it may use'")


if __name__ == "__main__":
    unittest.main()
