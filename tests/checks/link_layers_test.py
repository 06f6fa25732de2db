# SPDX-License-Identifier: Apache-2.0
"""tidemark_library() reads the same table as the include check and refuses a forbidden link when configuring."""
import subprocess
import unittest

from planted import ROOT, PlantedTree

PROJECT = """cmake_minimum_required(VERSION 3.24)
project(planted LANGUAGES NONE)
add_library(tidemark_flags INTERFACE)
include(cmake/tidemark.cmake)
add_subdirectory(base)
add_subdirectory(trace/read)
add_subdirectory(trace/write)
"""


class LinkLayers(PlantedTree):
    def setUp(self):
        super().setUp()
        self.write("CMakeLists.txt", PROJECT)
        self.write("cmake/tidemark.cmake", (ROOT / "cmake/tidemark.cmake").read_text())
        self.write("base/CMakeLists.txt", "tidemark_library(tidemark_base INTERFACE)\n")
        self.write("trace/read/CMakeLists.txt", "tidemark_library(tidemark_trace_read INTERFACE LINKS tidemark::base)\n")

    def configure(self, links_of_write):
        self.write("trace/write/CMakeLists.txt", f"tidemark_library(tidemark_trace_write INTERFACE LINKS {links_of_write})\n")
        command = ["cmake", "-S", str(self.root), "-B", str(self.root / "build")]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        return run.returncode, run.stdout + run.stderr

    def test_an_allowed_link_configures(self):
        code, output = self.configure("tidemark::base")
        self.assertEqual(code, 0, output)

    def test_a_forbidden_link_stops_the_configuration_and_names_both_layers(self):
        code, output = self.configure("tidemark::base tidemark::trace_read")
        self.assertNotEqual(code, 0, output)
        self.assertIn("trace/write/ may not use trace/read/", output)


if __name__ == "__main__":
    unittest.main()
