# SPDX-License-Identifier: Apache-2.0
import pathlib
import sys
import unittest

from planted import ROOT, PlantedTree

sys.path.insert(0, str(ROOT / "tools"))
import check_docs  # noqa: E402


class CheckDocs(PlantedTree):
    def setUp(self):
        super().setUp()
        for folder in check_docs.folders_to_describe(self.root):
            self.write(f"{folder}/README.md", f"# {folder}/\n\nWhat lives here, in one line.\n")
        self.write("CMakePresets.json", '{"configurePresets": [{"name": "dev"}, {"name": "release"}]}')
        self.program("tools/go", 'echo "usage: go"')

    def program(self, name, body):
        self.write(name, f"#!/bin/sh\n{body}\n").chmod(0o755)

    def accepts(self):
        code, output = self.run_check("check_docs.py")
        self.assertEqual(code, 0, output)

    def refuses(self, *words):
        code, output = self.run_check("check_docs.py")
        self.assertEqual(code, 1, output)
        for word in words:
            self.assertIn(word, output)

    def readme(self, *commands):
        self.write("README.md", "# x\n\n```sh\n" + "\n".join(commands) + "\n```\n")

    def test_a_described_tree_passes(self):
        self.accepts()

    def test_a_folder_without_a_word_is_refused(self):
        pathlib.Path(self.root / "viewer/README.md").unlink()
        self.refuses("viewer/README.md: missing")

    def test_a_folder_with_a_title_alone_is_refused(self):
        self.write("trace/read/README.md", "# trace/read/ and nothing more to say\n")
        self.refuses("trace/read/README.md: says nothing")

    def test_a_dead_link_is_refused(self):
        self.write("docs/a.md", "[here](README.md) [there](../nowhere.md) [outside](https://example.com/x)\n")
        self.refuses("docs/a.md: the link to ../nowhere.md")

    def test_good_commands_pass(self):
        self.readme("tools/go    # a remark", "A=1 tools/go --fast && git status", "cmake --preset dev", "cmake --build --preset \\", "  release", "LD_LIBRARY_PATH=x build/release/bin/y --z")
        self.accepts()

    def test_a_command_that_is_not_there_is_refused(self):
        self.readme("tools/gone")
        self.refuses("README.md:4: tools/gone: no such program")

    def test_a_command_without_help_is_refused(self):
        self.program("tools/mute", "exit 1")
        self.readme("tools/mute")
        self.refuses("tools/mute --help does not answer")

    def test_an_unknown_preset_is_refused(self):
        self.readme("cmake --workflow --preset debug")
        self.refuses("no preset debug")

    def test_other_blocks_are_not_commands(self):
        self.write("README.md", "# x\n\n```\ntools/gone\n```\n\n```json\n{}\n```\n")
        self.accepts()


if __name__ == "__main__":
    unittest.main()
