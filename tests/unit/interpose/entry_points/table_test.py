#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of entry points: its format, and what must hold for the project's own one."""
import unittest

import support  # noqa: F401  first: it says where the others are

import table


def entry(text, heading="runtime order copy"):
    (made,) = table.parse(f"[{heading}]\n{text}\n").values()
    return made


class FormatTest(unittest.TestCase):
    def refused(self, text, *words):
        with self.assertRaises(table.TableError) as caught:
            table.parse(text)
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_a_plain_name_has_the_whole_range(self):
        e = entry("cudaMalloc", "runtime serve device")
        self.assertEqual((e.layer, e.action, e.kind, e.twin, e.stream, e.changed), ("runtime", "serve", "device", "", table.NO_STREAM, False))
        self.assertEqual((e.first, e.last, e.version), (table.FIRST, table.LAST, 0))

    def test_all_marks_together(self):
        e = entry("cudaMemcpyBatchAsync+:8!7@12.8")
        self.assertEqual((e.twin, e.stream_12, e.stream, e.changed, e.first), ("cudaMemcpyBatchAsync_ptsz", 8, 7, True, (12, 8)))

    def test_an_abi_may_change_and_the_stream_stay(self):
        e = entry("cudaWait:3!")
        self.assertEqual((e.stream_12, e.stream, e.changed), (3, 3, True))
        e = entry("cudaAdd!@12.2..12.9")
        self.assertEqual((e.stream, e.changed, e.first, e.last), (table.NO_STREAM, True, (12, 2), (12, 9)))

    def test_a_twin_without_stream_is_that_of_the_default_stream(self):
        self.assertEqual(entry("cudaMemcpy+").twin, "cudaMemcpy_ptds")
        self.assertEqual(entry("cudaLaunch+:*").twin, "cudaLaunch_ptsz")
        self.assertEqual(entry("cudaLaunch+:*").stream, table.IN_A_STRUCTURE)
        self.assertEqual(entry("cudaGet+", "runtime resolve").twin, "cudaGet_ptsz")

    def test_the_version_for_the_driver_follows_from_the_first_toolkit_or_is_given(self):
        self.assertEqual(entry("cuA@13.1", "driver order copy").version, 13010)
        self.assertEqual(entry("cuA=13010@13.2", "driver order copy").version, 13010)

    def test_a_twin_is_found_by_its_name(self):
        entries = table.parse("[driver order copy]\ncuA+:1 cuB:1\n[driver pass]\ncuC\n")
        self.assertEqual(table.find(entries, "cuA_ptsz").name, "cuA")
        self.assertEqual(table.find(entries, "cuC_ptsz").name, "cuC")  # not marked, as nothing is done with it
        self.assertIsNone(table.find(entries, "cuA_ptds"))
        self.assertIsNone(table.find(entries, "cuD"))

    def test_comments_end_a_line(self):
        self.assertEqual(list(table.parse("# cuX\n[driver pass] # cuY\ncuA # cuZ\n")), ["cuA"])

    def test_a_name_twice_is_refused_wherever_it_stands(self):
        self.refused("[driver pass]\ncuA cuB\ncuA\n", "line 3", "cuA: listed twice")
        self.refused("[driver pass]\ncuA\n[driver order copy]\ncuA\n", "line 4", "listed twice")

    def test_what_cannot_be_read_is_refused(self):
        for text in ("[driver pass]\ncuA@\n", "[driver pass]\ncu-A\n", "[driver order copy]\ncuA:x\n", "[driver order copy]\ncuA:1+\n"):
            self.refused(text, "cannot be read")
        self.refused("cuA\n", "before the first section")
        self.refused("# nothing\n", "no names")

    def test_unknown_words_in_a_heading_are_refused(self):
        self.refused("[driver]\ncuA\n", "layer and an action")
        self.refused("[kernel pass]\ncuA\n", "layer and an action")
        self.refused("[driver forget]\ncuA\n", "layer and an action")
        self.refused("[driver order]\ncuA\n", "order has the classes")
        self.refused("[driver serve launch]\ncuA\n", "serve has the classes")
        self.refused("[driver pass device]\ncuA\n", "none")

    def test_marks_that_mean_nothing_are_refused(self):
        self.refused("[driver order copy]\ncuA!\n", "two libraries")
        self.refused("[driver pass]\ncuA:1\n", "not given for pass")
        self.refused("[driver order copy]\ncuA_ptsz\n", "twin")
        self.refused("[driver pass]\ncuA@12.8..12.4\n", "not within")
        self.refused("[driver pass]\ncuA@11.8\n", "not within")


class OwnTableTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.entries = table.load()

    def test_the_hot_names_have_their_actions(self):
        for name, action, kind in (("cudaMalloc", "serve", "device"), ("cuMemFree_v2", "serve", "device"), ("cuMemAlloc", "pass", ""),
                                   ("cuMemCreate", "account", "physical"), ("cuMemGetInfo_v2", "translate", "info"),
                                   ("cudaDeviceReset", "invalidate", "context"), ("__cudaLaunchKernel", "order", "launch"),
                                   ("cudaSetDevice", "order", "context"), ("dlsym", "resolve", ""), ("nvmlDeviceGetMemoryInfo", "translate", "info")):
            self.assertEqual((self.entries[name].action, self.entries[name].kind), (action, kind), name)

    def test_what_takes_a_stream_of_a_memory_call_says_so(self):
        self.assertEqual(self.entries["cudaMallocAsync"].stream, 2)
        self.assertEqual((self.entries["cudaMemPrefetchAsync"].stream_12, self.entries["cudaMemPrefetchAsync"].stream), (3, 4))

    def test_a_runtime_name_and_the_driver_name_of_the_same_spelling_have_the_same_action(self):
        compared = 0
        for entry in self.entries.values():
            if entry.layer != "driver" or entry.name.partition("_")[0] != entry.name:
                continue
            twin = self.entries.get(entry.name.replace("cu", "cuda", 1))
            newest = max((n for n in self.entries if n == entry.name or n.startswith(entry.name + "_v")), key=len)
            if twin:
                compared += 1
                self.assertEqual((twin.action, twin.kind), (self.entries[newest].action, self.entries[newest].kind), entry.name)
        self.assertGreater(compared, 150)


if __name__ == "__main__":
    unittest.main()
