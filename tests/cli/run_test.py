#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tidemark run`, `doctor` and `top` on the software device: codes, signals, streams, traces, and lines for a person.

usage: run_test.py TIDEMARK SAMPLE HOLDER STATIC_SAMPLE NO_PROMISE"""
import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import termios
import time
import unittest

TIDEMARK, SAMPLE, HOLDER, STATIC_SAMPLE, NO_PROMISE = None, None, None, None, None
SOFT = ("--device", "soft:rtx2080ti-11g")


class Run(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.addCleanup(self.temporary.cleanup)
        self.environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TMPDIR": str(self.folder), "SOFTGPU_WORKERS": "1"}

    def call(self, *words, **more):
        environment = {**self.environment, **more.pop("env", {})}
        return subprocess.run([TIDEMARK, *map(str, words)], cwd=more.pop("cwd", self.folder), env=environment, text=True,
                              capture_output=True, timeout=120, **more)

    def run_it(self, *words, **more):
        return self.call("run", *words, **more)

    def traces(self):
        return sorted(p.name for p in self.folder.glob("*.tide"))

    def report(self, name):
        done = self.call("report", name, "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def complains(self, done, code, *words):
        self.assertEqual(done.returncode, code, done.stderr)
        lines = done.stderr.splitlines()
        self.assertTrue(lines and lines[0].startswith("error: "), done.stderr)
        self.assertTrue(any(line.startswith("hint: ") for line in lines), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(done.stdout, "")


class Places(Run):
    def test_only_a_file_is_written_over(self):
        (self.folder / "inner").mkdir()
        os.mkfifo(self.folder / "fifo")
        for name, word in (("inner", "folder"), ("fifo", "regular file"), (".", "folder"), ("/dev/null", "regular file")):
            self.complains(self.run_it("-o", name, "--force", "--", SAMPLE), 125, word, "-o")
        self.assertTrue((self.folder / "inner").is_dir())
        self.assertTrue((self.folder / "fifo").is_fifo())

    def test_where_recording_failed_the_end_says_why_and_nothing_else(self):
        done = self.run_it(*SOFT, "--", SAMPLE, env={"TIDEMARK_STACKS": "maybe"})
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"tidemark: nothing was recorded: TIDEMARK_STACKS")
        self.assertNotIn("--door", done.stderr)
        self.assertNotIn("did not use", done.stderr)

    def test_a_trace_that_was_cut_off_says_so(self):
        self.assertEqual(self.run_it(*SOFT, "-o", "a.tide", "--", SAMPLE).returncode, 0)
        whole = (self.folder / "a.tide").read_bytes()
        for size in (len(whole) - 1, len(whole) // 2, 70000, 4096):
            (self.folder / "cut.tide").write_bytes(whole[:size])
            self.assertIn("cut off", self.call("report", "cut.tide").stdout)
            self.assertFalse(self.report("cut.tide")["trace"]["complete"])
            self.assertEqual(self.report("cut.tide")["trace"]["missing_bytes"], len(whole) - size)

    def test_secrets_of_the_environment_are_not_in_the_trace(self):
        done = self.run_it(*SOFT, "-o", "a.tide", "--", SAMPLE, env={"TF_VAR_password": "hunter2", "CUDA_VISIBLE_DEVICES": "0"})
        self.assertEqual(done.returncode, 0)
        trace = (self.folder / "a.tide").read_bytes()
        self.assertNotIn(b"hunter2", trace)
        self.assertIn(b"CUDA_VISIBLE_DEVICES", trace)


class WithoutPromise(Run):
    """The folder seems to be on NFS: traces are written to /dev/shm and brought home."""

    def setUp(self):
        super().setUp()
        self.environment |= {"LD_PRELOAD": NO_PROMISE, "NO_PROMISE_IN": str(self.folder)}

    def in_memory(self):
        return [p for p in pathlib.Path("/dev/shm").glob("*.tide-*") if p.name.startswith(self.folder.name)]

    def test_a_trace_comes_home(self):
        name = self.folder.name + ".tide"
        done = self.run_it(*SOFT, "-o", name, "--", SAMPLE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"its file system does not promise space; the trace is written to /dev/shm/\S+ and copied at the end")
        self.assertTrue(stat.S_ISREG((self.folder / name).lstat().st_mode))
        self.assertEqual(stat.S_IMODE((self.folder / name).lstat().st_mode), 0o600)
        report = self.report(name)
        self.assertTrue(report["trace"]["complete"])
        self.assertEqual(report["facts"]["trace.place"], "memory")
        self.assertEqual(report["program"]["exit"], 0)
        self.assertEqual((self.traces(), self.in_memory()), ([name], []))

    def test_the_processes_of_a_launch_keep_theirs_apart(self):
        name = self.folder.name + ".tide"
        done = self.run_it(*SOFT, "-o", name, "--", "sh", "-c", f"{SAMPLE} & {SAMPLE} & {SAMPLE}; wait")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((len(self.traces()), self.in_memory()), (3, []), done.stderr)
        for trace in self.traces():
            self.assertTrue(self.report(trace)["trace"]["complete"])

    def test_without_the_launcher_it_is_found_by_its_link(self):
        lib = pathlib.Path(TIDEMARK).resolve().parents[1] / "lib"
        name = self.folder.name + ".tide"
        environment = {**self.environment, "LD_PRELOAD": f"{NO_PROMISE}:{lib / 'libtidemark.so'}", "TIDEMARK_OUT": name,
                       "LD_LIBRARY_PATH": str(lib / "softgpu"), "SOFTGPU_QUIET": "1"}
        done = subprocess.run([SAMPLE], cwd=self.folder, env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0)
        place = os.readlink(self.folder / name)
        self.assertIn(f"trace: {place}\n", done.stderr)
        self.assertTrue(self.report(name)["trace"]["complete"])
        os.unlink(place)
        # As after a restart: the link leads nowhere, and its name is still somebody's.
        again = subprocess.run([SAMPLE], cwd=self.folder, env=environment, capture_output=True, text=True)
        self.assertEqual(again.returncode, 0)
        self.assertEqual(len(self.traces()), 2, again.stderr)
        for left in self.in_memory():
            left.unlink()


class Doors(Run):
    def test_the_second_door_records_what_the_first_does_and_leaves_nothing_but_a_link_in_the_cache(self):
        cache = self.folder / "cache"
        first = self.run_it(*SOFT, "-o", "first.tide", "--", SAMPLE)
        for _ in range(2):
            second = self.run_it(*SOFT, "--door", "soname", "-o", "second.tide", "--force", "--", SAMPLE,
                                 env={"XDG_CACHE_HOME": str(cache)})
            self.assertEqual(second.returncode, 0, second.stderr)
            self.assertEqual(*(re.sub(r"[\d.]+ [mu]?s\b", "TIME", done.stdout) for done in (first, second)))
            self.assertEqual(self.report("first.tide")["peak"]["live_bytes"], self.report("second.tide")["peak"]["live_bytes"])
        self.assertEqual([p.name for p in cache.rglob("lib*")], ["libtidemark-driver.so.1"])

    def test_a_library_that_is_bound_to_its_own_is_seen_by_the_second_door(self):
        hosts = pathlib.Path(HOLDER).parent.parent / "hosts"
        program = (hosts / "opens_plugin", hosts / "plugin.so", "deepbind")
        blind = self.run_it(*SOFT, "--", *program)
        self.assertEqual(blind.returncode, 0, blind.stderr)
        self.assertIn("--door soname", blind.stderr)
        seeing = self.run_it(*SOFT, "--door", "soname", "-o", "a.tide", "--", *program)
        self.assertEqual((seeing.returncode, seeing.stdout), (0, blind.stdout), seeing.stderr)
        self.assertGreater(self.report("a.tide")["totals"]["allocations"], 0)

    def test_an_unknown_door_is_an_error(self):
        self.complains(self.run_it("--door", "back", "--", SAMPLE), 2, "--door")


class Codes(Run):
    def test_the_programs_own_code_is_passed_on(self):
        for code in (0, 1, 2, 3, 77, 125, 255):
            self.assertEqual(self.run_it("--", "sh", "-c", f"exit {code}").returncode, code)

    def test_a_signal_that_ends_the_program_is_128_and_its_number(self):
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGABRT, signal.SIGPIPE):
            done = self.run_it("--", "sh", "-c", f"kill -{int(number)} $$")
            self.assertEqual(done.returncode, 128 + int(number))

    def test_a_missing_program_is_127(self):
        self.complains(self.run_it("--", "./nothere"), 127, "./nothere")
        self.complains(self.run_it("--", "nothere-at-all"), 127, "./nothere-at-all")

    def test_what_cannot_be_executed_is_126(self):
        (self.folder / "text").write_text("not a program")
        self.complains(self.run_it("--", "./text"), 126, "chmod +x")
        self.complains(self.run_it("--", "./"), 126, "folder")
        (self.folder / "text").chmod(0o755)
        (self.folder / "text").write_text("\x7fELF nonsense")
        done = self.run_it("--", "./text")
        self.assertEqual(done.returncode, 126, done.stderr)
        self.assertIn("error: ", done.stderr)

    def test_a_script_without_an_interpreter_is_the_shells(self):
        (self.folder / "script").write_text("exit $1\n")
        (self.folder / "script").chmod(0o755)
        self.assertEqual(self.run_it("--", "./script", "31").returncode, 31)

    def test_a_wrong_call_is_2(self):
        self.complains(self.run_it(), 2, "tidemark run -- ")
        self.complains(self.run_it("--"), 2, "tidemark run -- ")
        self.complains(self.run_it("./train"), 2, "tidemark run -- ")
        self.complains(self.run_it("--nonsense", "--", "true"), 2)
        self.complains(self.run_it("--device", "soft:nope", "--", "true"), 2, "tidemark devices")
        self.complains(self.run_it("--device", "cuda", "--", "true"), 2, "soft:PROFILE")
        self.complains(self.run_it("--memory", "8GiB", "--", "true"), 2, "--device soft")
        self.complains(self.run_it(*SOFT, "--dry-run", "--execute", "--", "true"), 2)
        self.complains(self.run_it("--limit", "much", "--", "true"), 2, "--limit")
        self.complains(self.run_it("--ring", "0", "--", "true"), 2, "--ring")

    def test_an_output_that_cannot_be_written_is_125(self):
        self.complains(self.run_it("-o", "no/such/run.tide", "--", "true"), 125, "no such folder")
        (self.folder / "run.tide").write_text("mine")
        self.complains(self.run_it("-o", "run.tide", "--", "true"), 125, "--force")
        self.assertEqual((self.folder / "run.tide").read_text(), "mine")

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_a_read_only_folder_is_125(self):
        (self.folder / "closed").mkdir(mode=0o555)
        self.complains(self.run_it("-o", "closed/run.tide", "--", "true"), 125)

    def test_a_static_runtime_on_the_software_device_is_named_before_the_start(self):
        self.complains(self.run_it(*SOFT, "--", STATIC_SAMPLE), 125, "-cudart shared")


class Streams(Run):
    def test_output_of_the_program_is_its_own(self):
        done = self.run_it("--", "sh", "-c", "echo out; echo err >&2; cat", input="in\n")
        self.assertEqual(done.stdout, "out\nin\n")
        self.assertTrue(done.stderr.startswith("err\n"))

    def test_closed_streams_harm_nobody(self):
        script = f'"{TIDEMARK}" run -- sh -c "exit 5" >&- 2>&- <&-'
        self.assertEqual(subprocess.run(["sh", "-c", script], env=self.environment, cwd=self.folder).returncode, 5)

    def test_a_program_that_touches_no_device_leaves_nothing(self):
        done = self.run_it("--", "true")
        self.assertEqual((done.returncode, self.traces()), (0, []))
        self.assertIn("nothing was recorded", done.stderr)
        self.assertEqual(os.listdir(self.folder), [])


class Signals(Run):
    def start(self, script, **more):
        words = [TIDEMARK, "run", "--", "sh", "-c", script]
        return subprocess.Popen(words, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, text=True,
                                stderr=subprocess.PIPE, **more)

    def test_signals_to_us_reach_the_program(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            trap = f"trap 'echo got; exit 9' {number.name[3:]}; echo ready; while :; do sleep 0.05; done"
            running = self.start(trap)
            self.assertEqual(running.stdout.readline(), "ready\n")
            running.send_signal(number)
            out, _ = running.communicate(timeout=30)
            self.assertEqual((running.returncode, out), (9, "got\n"), number)

    def test_a_key_on_the_terminal_reaches_the_program_once(self):
        leader, follower = pty.openpty()
        counting = "n=0; trap 'n=$((n+1)); echo got $n' INT; echo ready; while [ ! -e end ]; do sleep 0.05; done; exit 4"
        running = subprocess.Popen([TIDEMARK, "run", "--", "sh", "-c", counting], cwd=self.folder, env=self.environment,
                                   stdin=follower, stdout=follower, stderr=subprocess.DEVNULL,
                                   preexec_fn=lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)))
        os.close(follower)
        shown = b""
        while b"ready" not in shown:
            shown += os.read(leader, 1000)
        os.write(leader, b"\x03")
        while b"got 1" not in shown:
            shown += os.read(leader, 1000)
        time.sleep(0.3)
        (self.folder / "end").touch()
        self.assertEqual(running.wait(timeout=30), 4)
        try:
            shown += os.read(leader, 1000)
        except OSError:
            pass
        os.close(leader)
        self.assertNotIn(b"got 2", shown)

    def test_ignored_and_blocked_signals_are_inherited(self):
        script = f'trap "" USR2; exec "{TIDEMARK}" run -- sh -c \'kill -USR2 $$; exit 6\''
        self.assertEqual(subprocess.run(["sh", "-c", script], env=self.environment, cwd=self.folder, capture_output=True).returncode, 6)

    def test_what_the_program_ignores_from_its_birth_is_as_it_would_be_without_us(self):
        for number in (signal.SIGPIPE, signal.SIGCHLD, signal.SIGUSR1):
            ignored = {"restore_signals": False, "preexec_fn": lambda n=number: signal.signal(n, signal.SIG_IGN)}
            words = ("grep", "SigIgn", "/proc/self/status")
            bare = subprocess.run(words, capture_output=True, text=True, **ignored)
            done = self.run_it("--", *words, **ignored)
            self.assertEqual((done.returncode, done.stdout), (0, bare.stdout), number)


class Traces(Run):
    def test_a_run_is_recorded_and_summed_up(self):
        done = self.run_it(*SOFT, "-o", "run.tide", "--", SAMPLE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("all values right", done.stdout)
        for words in ("mode cache", "peak live 12.02 MiB", "run.tide", "tidemark report"):
            self.assertIn(words, done.stderr)
        report = self.report("run.tide")
        self.assertEqual(report["program"]["exit"], 0)
        self.assertEqual(report["program"]["command"], [SAMPLE])
        self.assertTrue(report["trace"]["complete"])
        self.assertEqual(report["devices"][0]["software"], True)
        self.assertEqual(report["peak_reserved_bytes"], 14 << 20)
        self.assertEqual(stat.S_IMODE((self.folder / "run.tide").stat().st_mode), 0o600)

    def test_the_default_name_has_the_process(self):
        self.run_it(*SOFT, "--", SAMPLE)
        self.assertEqual(len(self.traces()), 1)
        self.assertRegex(self.traces()[0], r"^tidemark-\d+\.tide$")

    def test_force_writes_over(self):
        (self.folder / "run.tide").write_text("old")
        self.assertEqual(self.run_it(*SOFT, "--force", "-o", "run.tide", "--", SAMPLE).returncode, 0)
        self.assertEqual(self.report("run.tide")["program"]["exit"], 0)

    def test_processes_behind_a_wrapper_have_a_trace_each(self):
        done = self.run_it(*SOFT, "-o", "run.tide", "--", "sh", "-c", f"cd /; '{SAMPLE}' & '{SAMPLE}'; wait")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(self.traces()), 2)
        self.assertIn("run.tide", self.traces())
        runs = {self.report(name)["trace"]["path"] for name in self.traces()}
        self.assertEqual(len(runs), 2)
        self.assertEqual(done.stderr.count("peak live 12.02 MiB"), 2)

    def test_ranks_name_their_traces(self):
        script = f"for r in 0 1 2; do OMPI_COMM_WORLD_RANK=$r '{SAMPLE}'; done"
        self.run_it(*SOFT, "-o", "rank-%r.tide", "--", "sh", "-c", script)
        self.assertEqual(self.traces(), ["rank-0.tide", "rank-1.tide", "rank-2.tide"])

    def test_a_killed_program_leaves_a_trace_that_says_so(self):
        done = self.run_it(*SOFT, "-o", "run.tide", "--", "sh", "-c", f"'{SAMPLE}' >/dev/null; kill -9 $$")
        self.assertEqual(done.returncode, 137)
        self.assertEqual(self.traces(), ["run.tide"])

    def test_it_works_from_any_folder_through_a_link(self):
        (self.folder / "there").mkdir()
        os.symlink(TIDEMARK, self.folder / "there" / "tm")
        done = subprocess.run(["there/tm", "run", *SOFT, "-o", "x.tide", "--", SAMPLE], cwd=self.folder, env=self.environment,
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, self.traces()), (0, ["x.tide"]), done.stderr)

    def test_a_folder_may_have_any_name(self):
        for name in ("a%pb", "100%%", "two words", "a:b;c"):
            folder = self.folder / name
            folder.mkdir()
            for words in (("-o", "x.tide"), ()):
                done = self.run_it(*SOFT, *words, "--", SAMPLE, cwd=folder)
                self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len(list(folder.glob("*.tide"))), 2, name)

    def test_it_may_be_installed_anywhere_and_its_cache_be_anywhere(self):
        place = pathlib.Path(TIDEMARK).resolve().parents[1]
        for i, name in enumerate(("two words", "a:b")):
            prefix = self.folder / name
            (prefix / "bin").mkdir(parents=True)
            shutil.copy(TIDEMARK, prefix / "bin" / "tidemark")
            os.symlink(place / "lib", prefix / "lib")
            for door in ("auto", "soname"):
                for k, cache in enumerate((self.folder / "cache", prefix / "cache")):
                    trace = f"{i}-{door}-{k}.tide"
                    done = subprocess.run([prefix / "bin" / "tidemark", "run", *SOFT, "--door", door, "-o", trace, "--", SAMPLE],
                                          cwd=self.folder, env={**self.environment, "XDG_CACHE_HOME": str(cache)},
                                          capture_output=True, text=True, timeout=60)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertNotIn("LD_PRELOAD", done.stderr)
                    self.assertIn(trace, self.traces())

    def test_a_limit_makes_the_card_small(self):
        done = self.run_it(*SOFT, "--limit", "310MiB", "-o", "run.tide", "--", SAMPLE)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("out of memory on device 0 (310.00 MiB, set by the limit)", done.stderr)
        self.assertIn("verdict   shortage", done.stderr)
        self.assertIn("memory      310.00 MiB", done.stdout)
        self.assertEqual(self.report("run.tide")["oom"]["requested_bytes"], 4 << 20)

    def test_a_limit_beyond_the_card_is_none(self):
        done = self.run_it(*SOFT, "--limit", "100GiB", "-o", "run.tide", "--", SAMPLE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("the limit of 100.00 GiB is more than device 0 has (10.76 GiB): it changes nothing"), 1)
        done = self.run_it("--device", "soft", "--memory", "310MiB", "--limit", "1GiB", "-o", "small.tide", "--", SAMPLE,
                           env={"SOFTGPU_CONTEXT": "300MiB"})
        self.assertIn("out of memory on device 0 (310.00 MiB)", done.stderr)

    def test_a_limit_below_the_context_is_named_as_such(self):
        done = self.run_it(*SOFT, "--limit", "100MiB", "-o", "run.tide", "--", SAMPLE)
        self.assertIn("verdict   the limit is smaller than the context: 300.00 MiB of it", done.stderr)
        self.assertIn("a larger limit", done.stderr)
        self.assertEqual(self.report("run.tide")["devices"][0]["limit_bytes"], 100 << 20)

    def test_a_program_that_crashes_is_said_to_have(self):
        done = self.run_it(*SOFT, "-o", "run.tide", "--", HOLDER, input="crash\n")
        self.assertEqual(done.returncode, 139, done.stderr)
        self.assertIn("the program was ended by signal 11 (SIGSEGV)\n", done.stderr)
        report = self.call("report", "run.tide").stdout
        self.assertIn("The program was ended by signal 11 (SIGSEGV): this is the account", report)
        self.assertNotIn("still runs", report)

    def test_a_variable_that_means_nothing_is_named_once(self):
        done = self.run_it(*SOFT, "-o", "run.tide", "--", SAMPLE, env={"TIDEMARK_LIMTI": "1GiB"})
        self.assertEqual(done.stderr.count("TIDEMARK_LIMTI is not a variable of tidemark and has no effect (meant: TIDEMARK_LIMIT?)"), 1)

    def test_memory_and_dry_run_reach_the_device(self):
        done = self.run_it("--device", "soft:a100-80g", "--memory", "1GiB", "--dry-run", "-o", "run.tide", "--", SAMPLE, "--no-check")
        self.assertIn("memory      1024.00 MiB", done.stdout)
        self.assertTrue(self.report("run.tide")["devices"][0]["dry_run"])

    def test_what_was_preloaded_and_on_the_path_stays(self):
        done = self.run_it(*SOFT, "--", "sh", "-c", "echo $LD_PRELOAD; echo $LD_LIBRARY_PATH",
                           env={"LD_PRELOAD": "libm.so.6", "LD_LIBRARY_PATH": "/some/where"})
        preload, path = done.stdout.splitlines()
        self.assertRegex(preload, r"^libm\.so\.6:/.*/libtidemark\.so$")
        self.assertRegex(path, r"^/.*/softgpu:/some/where$")

    def test_bare_preload_works_and_says_one_line(self):
        lib = pathlib.Path(TIDEMARK).resolve().parents[1] / "lib"
        environment = {**self.environment, "LD_PRELOAD": str(lib / "libtidemark.so"), "LD_LIBRARY_PATH": str(lib / "softgpu"), "SOFTGPU_QUIET": "1"}
        done = subprocess.run([SAMPLE], cwd=self.folder, env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr, f"tidemark: mode cache, peak 12.02 MiB live, 14.00 MiB reserved; trace: {self.traces()[0]}\n")


class Others(Run):
    def test_doctor_names_what_is_here(self):
        done = self.call("doctor")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for words in ("tidemark", "driver", "NVML", "CUPTI", "ok software device", "recorded", "folder"):
            self.assertIn(words, done.stdout)
        if (pathlib.Path(TIDEMARK).resolve().parents[1] / "lib" / "softgpu" / "libcupti.so.13").exists():
            self.assertIn("CUPTI on, its audit agrees", done.stdout)
        self.assertEqual(self.traces(), [])

    def test_doctor_probe_is_for_programs(self):
        done = self.call("doctor", "--probe")
        self.assertIn("driver.path=", done.stdout)

    def test_top_once_shows_a_recorded_process(self):
        library = pathlib.Path(TIDEMARK).resolve().parents[1] / "lib" / "softgpu"
        share = {"SOFTGPU_SHARE": f"top-{os.getpid()}", "LD_LIBRARY_PATH": str(library), "SOFTGPU_PROFILE": "rtx2080ti-11g"}
        running = subprocess.Popen([TIDEMARK, "run", *SOFT, "-o", "run.tide", "--", HOLDER], cwd=self.folder,
                                   env={**self.environment, **share}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True)
        for line in running.stdout:
            if line.startswith("waiting"):
                break
        shown = self.call("top", "--once", env=share)
        running.communicate("\n", timeout=60)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertRegex(shown.stdout, r"device 0 +SoftGPU \(rtx2080ti-11g\)")
        self.assertRegex(shown.stdout, r"cli_holder +312\.00 MiB +12\.00 MiB")
        self.assertIn(f" {self.folder}/run.tide\n", shown.stdout)
        self.assertIn("allocations are of every class", shown.stdout)

    def test_top_without_anything_says_so(self):
        shown = self.call("top", "--once")
        self.assertEqual(shown.returncode, 0)
        self.assertIn("no device", shown.stdout)
        self.assertEqual(self.call("top", "--interval", "soon").returncode, 2)


if __name__ == "__main__":
    TIDEMARK, SAMPLE, HOLDER, STATIC_SAMPLE, NO_PROMISE = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
