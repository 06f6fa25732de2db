# SPDX-License-Identifier: Apache-2.0
import unittest

from planted import PlantedTree

LICENCE = "SPDX-License-Identifier: Apache-2.0"


class CheckText(PlantedTree):
    def accepts(self):
        code, output = self.run_check("check_text.py")
        self.assertEqual(code, 0, output)

    def refuses(self, *words):
        code, output = self.run_check("check_text.py")
        self.assertEqual(code, 1, output)
        for word in words:
            self.assertIn(word, output)

    def test_ordinary_files_pass(self):
        self.write("base/a.h", f"// {LICENCE}\n#pragma once\n")
        self.write("docs/a.md", "Toolkits stand in /usr/local/cuda; tests/work/x and ~/work/y are no machine's paths.\n")
        self.accepts()

    def test_a_path_of_one_machine_is_refused(self):
        # Put together here, so that this file passes the check that it tests.
        for path in ("/" + "root/x", "/" + "work/main", "/" + "home/ada/x", "/" + "Users/ada/x"):
            self.write("docs/a.md", f"Look into {path} for it.\n")
            self.refuses("docs/a.md:1:", "path of one machine")

    def test_a_registry_address_is_refused(self):
        for host in ("pypi" + ".org", "files.python" + "hosted.org", "deb" + ".debian.org", "x-docker.pkg" + ".dev"):
            self.write("tools/x.txt", f"https://{host}/simple\n")
            self.refuses("tools/x.txt:1:", "address")

    def test_a_source_without_licence_line_is_refused(self):
        self.write("base/a.cpp", "int x;\n")
        self.refuses("base/a.cpp:1: no licence line")

    def test_a_script_without_suffix_needs_the_licence_line_too(self):
        self.write("tools/run", "#!/bin/sh\nexit 0\n")
        self.refuses("tools/run:1: no licence line")

    def test_a_header_without_guard_is_refused(self):
        self.write("base/a.h", f"// {LICENCE}\nint x();\n")
        self.refuses("base/a.h:1: no #pragma once")


if __name__ == "__main__":
    unittest.main()
