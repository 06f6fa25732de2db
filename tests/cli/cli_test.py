#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The `tidemark` command as a person or a script meets it: codes, streams, error and hint lines.

usage: cli_test.py TIDEMARK MAKE_SAMPLES"""
import json
import os
import pathlib
import pty
import subprocess
import sys
import tempfile
import unittest

TIDEMARK, MAKE_SAMPLES = None, None


class Cli(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        subprocess.run([MAKE_SAMPLES, cls.folder], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def run_it(self, *arguments, **more):
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **more.pop("env", {})}
        return subprocess.run([TIDEMARK, *map(str, arguments)], cwd=self.folder, env=environment, text=True,
                              capture_output="stdout" not in more, timeout=60, **more)

    def succeeds(self, *arguments, **more):
        done = self.run_it(*arguments, **more)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def fails(self, code, *arguments, says=(), **more):
        """One error: line, one hint: line, nothing on stdout."""
        done = self.run_it(*arguments, **more)
        self.assertEqual(done.returncode, code, done.stderr)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 2, done.stderr)
        self.assertTrue(lines[0].startswith("error: "), lines)
        self.assertTrue(lines[1].startswith("hint: "), lines)
        self.assertEqual(done.stdout, "")
        for words in says:
            self.assertIn(words, done.stderr)
        return done


class General(Cli):
    def test_help_lists_the_commands_and_goes_to_stdout(self):
        text = self.succeeds("--help")
        for word in ("run", "report", "replay", "plan", "top", "doctor", "devices", "examples:"):
            self.assertIn(word, text)

    def test_each_command_explains_itself_with_examples(self):
        for command in ("run", "report", "replay", "plan", "top", "doctor", "devices"):
            text = self.succeeds(command, "--help")
            self.assertIn("Examples:", text)
            self.assertIn(f"tidemark {command}", text)

    def test_version(self):
        self.assertRegex(self.succeeds("--version"), r"^tidemark \d+\.\d+\.\d+\n$")

    def test_wrong_usage_is_code_2(self):
        self.fails(2, says=["no command"])
        self.fails(2, "nonsense", says=["'nonsense'", "run, report"])
        self.fails(2, "reprot", says=["'reprot'", "meant: report? "])
        self.fails(2, "report", says=["error: no traces (.tide) were given\n"])
        self.fails(2, "report", "training.tide", "--nonsense", says=["error: not understood: --nonsense\n"])
        self.fails(2, "report", "training.tide", "--layer", says=["error: --layer: GLOB is missing\n"])
        self.fails(2, "report", "training.tide", "--by", "size", says=["kind, layer, phase, step, stack"])
        self.fails(2, "report", "training.tide", "--format", "pdf")
        self.fails(2, "report", "training.tide", "--kind", "x", says=["parameter"])
        self.fails(2, "report", "training.tide", "--top", "many")
        self.fails(2, "report", "training.tide", "--top", "-1", says=["--top", "'-1' is not a whole number"])
        self.fails(2, "report", "training.tide", "--top", "99999999999999999999")
        self.fails(2, "report", "training.tide", "--at", "noon")
        self.fails(2, "report", "training.tide", "--at", "step:x")
        self.fails(2, "report", "training.tide", "--at", "step:99", says=["no step 99", "0 to 4"])
        self.fails(2, "report", "training.tide", "--timeline", "0")
        self.fails(2, "report", "training.tide", "--device", "256")
        self.fails(2, "devices", "extra")

    def test_devices_lists_the_profiles(self):
        text = self.succeeds("devices")
        for words in ("a100-80g", "rtx2080ti-11g", "10.76 GiB", "default", "capacity only"):
            self.assertIn(words, text)


class Reports(Cli):
    def test_a_report_of_text_and_of_json(self):
        self.assertIn("Peak live  4.38 GiB", self.succeeds("report", "training.tide"))
        report = json.loads(self.succeeds("report", "training.tide", "--format", "json"))
        self.assertEqual(report["peak"]["layer"], "features.conv12")

    def test_filters_and_instants(self):
        def peak(*arguments):
            return json.loads(self.succeeds("report", "training.tide", "--format", "json", *arguments))

        whole = peak()
        parts = [peak("--kind", kind)["peak"]["by_kind"].get(kind, 0) for kind in whole["peak"]["by_kind"]]
        self.assertEqual(len(parts), 6)
        self.assertEqual(peak("--phase", "setup")["peak"]["step"], None)
        self.assertEqual(peak("--at", "step:0")["at"]["live_bytes"], whole["steps"][0]["peak_live_bytes"])
        self.assertEqual(peak("--at", "0")["at"]["live_bytes"], 0)
        self.assertEqual(len(peak("--timeline", "17")["timeline"]), 17)
        self.assertEqual(peak("--device", "0")["peak"], whole["peak"])
        self.assertEqual(peak("--process", "4242")["peak"], whole["peak"])

    def test_several_traces(self):
        text = self.succeeds("report", "training.tide", "oom.tide")
        self.assertIn("2 processes", text)
        self.assertLess(text.index("oom.tide"), text.index("training.tide"))
        report = json.loads(self.succeeds("report", "training.tide", "oom.tide", "--format", "json"))
        self.assertEqual(report["highest"], "oom.tide")

    def test_several_traces_have_one_order_and_a_file_counts_once(self):
        text = self.succeeds("report", "training.tide", "oom.tide", "./training.tide")
        self.assertIn("2 processes", text)
        heads = [line for line in text.splitlines() if line in ("training.tide", "oom.tide")]
        self.assertEqual(heads, ["oom.tide", "training.tide"])

    def test_what_a_trace_does_not_have_is_code_2(self):
        self.fails(2, "report", "training.tide", "--step", "9", says=["no step 9", "0 to 4"])
        self.fails(2, "report", "training.tide", "--device", "3", says=["no device 3", "device 0"])
        self.fails(2, "report", "training.tide", "--layer", "nosuch", says=["'nosuch'", "features.conv1, "])
        self.fails(2, "report", "training.tide", "--layer", "features", says=["'features.*'"])
        self.fails(2, "report", "training.tide", "oom.tide", "--process", "1", says=["--process 1", "4242, 4242"])
        self.fails(2, "report", "training.tide", "oom.tide", "--layer", "nosuch", says=["'nosuch'"])

    def test_of_several_traces_those_that_have_it_are_shown(self):
        done = self.run_it("report", "training.tide", "oom.tide", "--layer", "decoder.*")
        self.assertEqual((done.returncode, done.stderr), (0, "note: training.tide: no layer matches 'decoder.*'\n"))
        self.assertIn("oom.tide", done.stdout)

    def test_an_instant_needs_a_unit_and_a_place_in_the_run(self):
        self.fails(2, "report", "training.tide", "--at", "5", says=["needs its unit", "5s or 5ms; or step:5"])
        self.fails(2, "report", "training.tide", "--at", "99s", says=["ends before", "49880us"])

    def test_what_is_no_trace_is_code_1(self):
        (self.folder / "empty").write_bytes(b"")
        (self.folder / "text").write_text("TIDE" * 100)
        self.fails(1, "report", "missing.tide", says=["missing.tide", "No such file"])
        self.fails(1, "report", "empty", says=["empty: not a tidemark trace", "tidemark run"])
        self.fails(1, "report", "text", says=["not a tidemark trace"])
        self.fails(1, "report", self.folder)
        newer = bytearray((self.folder / "training.tide").read_bytes())
        newer[8] = 77
        (self.folder / "newer.tide").write_bytes(newer)
        self.fails(1, "report", "newer.tide", says=["version 77"])

    def test_a_truncated_trace_is_read_as_far_as_it_goes(self):
        whole = (self.folder / "training.tide").read_bytes()
        (self.folder / "short.tide").write_bytes(whole[: len(whole) - 100_000])
        self.assertIn("short.tide", self.succeeds("report", "short.tide"))
        (self.folder / "head.tide").write_bytes(whole[:5000])
        self.assertIn("No device memory", self.succeeds("report", "head.tide"))


class Output(Cli):
    def test_a_file_is_never_written_over_without_force(self):
        out = self.folder / "out.txt"
        self.assertEqual(self.succeeds("report", "oom.tide", "-o", out), "")
        before = out.read_text()
        self.assertIn("Out of memory", before)
        self.fails(1, "report", "training.tide", "-o", out, says=["out.txt", "--force"])
        self.assertEqual(out.read_text(), before)
        self.succeeds("report", "training.tide", "-o", out, "--force")
        self.assertIn("training.tide", out.read_text())

    def test_the_trace_itself_is_never_written_over(self):
        before = (self.folder / "oom.tide").read_bytes()
        self.fails(2, "report", "oom.tide", "-o", "oom.tide", "--force", says=["the trace itself"])
        self.assertEqual((self.folder / "oom.tide").read_bytes(), before)

    def test_places_that_cannot_be_written(self):
        self.fails(1, "report", "oom.tide", "-o", self.folder / "no" / "such" / "folder")
        self.fails(1, "report", "oom.tide", "-o", self.folder)
        self.fails(1, "report", "oom.tide", "-o", "/dev/full", says=["No space"])
        with open("/dev/full", "w") as full:
            done = self.run_it("report", "oom.tide", stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("error: cannot write", done.stderr)

    def test_a_closed_pipe_ends_quietly(self):
        for arguments in (["report", "training.tide", "--format", "json"], ["--help"], ["report", "--help"], ["devices"]):
            reading, writing = os.pipe()
            os.close(reading)
            done = self.run_it(*arguments, stdout=writing, stderr=subprocess.PIPE)
            os.close(writing)
            self.assertEqual((done.returncode, done.stderr), (0, ""), arguments)

    def on_a_terminal(self, **environment):
        """What the report prints where stdout is a terminal."""
        leader, follower = pty.openpty()
        variables = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "xterm", **environment}
        running = subprocess.Popen([TIDEMARK, "report", "oom.tide"], cwd=self.folder, env=variables, stdout=follower)
        os.close(follower)
        text = b""
        while True:
            try:
                piece = os.read(leader, 65536)
            except OSError:
                break
            if not piece:
                break
            text += piece
        os.close(leader)
        self.assertEqual(running.wait(), 0)
        return text.decode()

    def test_colours_are_for_terminals_that_want_them(self):
        self.assertIn("\033[", self.on_a_terminal())
        self.assertNotIn("\033[", self.on_a_terminal(NO_COLOR="1"))
        self.assertNotIn("\033[", self.on_a_terminal(TERM="dumb"))
        self.assertNotIn("\033[", self.succeeds("report", "oom.tide", env={"TERM": "xterm"}))

    def test_columns_are_honoured_where_there_is_no_terminal(self):
        for wanted, most in (("72", 72), ("140", 140), ("5", 60), ("many", 100)):
            lines = self.succeeds("report", "training.tide", env={"COLUMNS": wanted}).splitlines()
            self.assertEqual(max(len(line) for line in lines if not line.startswith("  tidemark ")), most)

    def test_without_a_utf8_locale_reports_are_ascii(self):
        self.assertTrue(self.succeeds("report", "oom.tide", env={"LC_ALL": "C"}).isascii())


class Replay(Cli):
    def test_every_allocator_stands_side_by_side(self):
        text = self.succeeds("replay", "training.tide")
        for name in ("tidemark", "pytorch", "expandable", "ideal"):
            self.assertIn(name, text)

    def test_json_has_the_promised_keys(self):
        one = json.loads(self.succeeds("replay", "training.tide", "--allocator", "tidemark", "--repeat", 3, "--format", "json"))
        for key in ("allocator", "peak_live_bytes", "peak_reserved_bytes", "ratio", "steady_ratio", "driver_calls", "ns_per_op"):
            self.assertIn(key, one)
        every = json.loads(self.succeeds("replay", "training.tide", "--format", "json"))
        self.assertEqual([row["allocator"] for row in every], ["tidemark", "pytorch", "expandable", "ideal"])
        self.assertEqual(every[3]["ratio"], 1.0)

    def test_what_cannot_be_replayed_is_said(self):
        (self.folder / "table.csv").write_text("op,id,bytes,stream,t_us\na,1,x,0,0\n")
        self.fails(1, "replay", "table.csv", says=["table.csv:2", "op,id,bytes"])
        self.fails(2, "replay", "training.tide", "--repeat", 0)
        self.fails(2, "replay", "training.tide", "training.tide")


if __name__ == "__main__":
    TIDEMARK, MAKE_SAMPLES = (str(pathlib.Path(p).resolve()) for p in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1])
