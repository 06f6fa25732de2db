# SPDX-License-Identifier: Apache-2.0
"""tools/setup without a network: a copy of it, a toolkit made of empty headers, and stand-ins for the system's tools."""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = "nvml.h cuda_profiler_api.h cudaProfiler.h cupti.h nvtx3/nvToolsExt.h cublas_v2.h"
STANDS_IN = {
    "dpkg-query": 'for a; do case $a in -*|*{*) ;; *) echo "installed $a";; esac; done',
    "apt-get": "echo apt-get must not be called >&2; exit 1",
    "g++": "echo 12",
    "cmake": "echo cmake version 3.25.1",
    "clang-format": "echo clang-format version 14.0.6",
    "nvcc": "exit 1",
}


class Setup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="set-up with spaces, né ")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "checkout"
        shutil.copytree(ROOT / "tools", self.root / "tools", ignore=shutil.ignore_patterns("__pycache__"))
        self.bin = pathlib.Path(folder.name) / "bin"
        self.bin.mkdir()
        for name, body in STANDS_IN.items():
            self.stand_in(name, body)

    def stand_in(self, name, body):
        (self.bin / name).write_text(f"#!/bin/sh\n{body}\n")
        (self.bin / name).chmod(0o755)

    def toolkit(self, name, version):
        home = self.root.parent / name
        for header in HEADERS.split():
            (home / "include" / header).parent.mkdir(parents=True, exist_ok=True)
            (home / "include" / header).touch()
        (home / "include/cuda.h").write_text(f"#define CUDA_VERSION {version}\n")
        (home / "bin").mkdir()
        (home / "bin/nvcc").write_text("#!/bin/sh\n")
        (home / "bin/nvcc").chmod(0o755)
        return str(home)

    def run_setup(self, *arguments, **environment):
        environment = {"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": str(self.root)} | environment
        command = [str(self.root / "tools/setup"), *arguments]
        run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        return run.returncode, run.stdout + run.stderr

    def test_nothing_to_do_is_said(self):
        home = self.toolkit("cuda 13", 13000)
        code, output = self.run_setup(CUDA_HOME=home)
        self.assertEqual(code, 0, output)
        self.assertIn("nothing to do", output)
        self.assertIn(home, output)

    def test_an_older_toolkit_is_named_and_passed_over(self):
        code, output = self.run_setup(CUDA_HOME=self.toolkit("old", 12080), CUDA_PATH=self.toolkit("new", 13010))
        self.assertEqual(code, 0, output)
        self.assertIn("old is CUDA 12.8: older than 13.0, not used", output)
        self.assertIn("CUDA: " + str(self.root.parent / "new"), output)

    def test_without_root_and_sudo_the_missing_packages_are_named(self):
        self.stand_in("dpkg-query", "exit 1")
        self.stand_in("id", "echo 1000")
        self.stand_in("sudo", "exit 1")
        code, output = self.run_setup(CUDA_HOME=self.toolkit("new", 13000))
        self.assertEqual(code, 1, output)
        self.assertIn("sudo refused", output)
        self.assertIn("hint: as root: apt-get install", output)
        self.assertIn(" ninja-build ", output)

    def test_packages_can_be_left_alone(self):
        self.stand_in("dpkg-query", "exit 1")
        code, output = self.run_setup("--no-packages", CUDA_HOME=self.toolkit("new", 13000))
        self.assertEqual(code, 0, output)

    def test_another_machine_without_a_toolkit_is_told_so(self):
        self.stand_in("uname", "echo aarch64")
        code, output = self.run_setup("--wheels")
        self.assertEqual(code, 1, output)
        self.assertIn("for x86-64, this machine is aarch64", output)

    def test_pytorch_is_fetched_only_when_asked_for_and_where_its_wheel_fits(self):
        home = self.toolkit("new", 13000)
        self.stand_in("uname", "echo aarch64")
        code, output = self.run_setup(CUDA_HOME=home)
        self.assertEqual(code, 0, output)
        code, output = self.run_setup("--torch", CUDA_HOME=home)
        self.assertEqual(code, 1, output)
        self.assertIn("the pinned wheel of PyTorch is for x86-64, this machine is aarch64", output)

    def test_an_unknown_option_is_named_and_the_usage_shown(self):
        for tool in ("setup", "demo", "test", "check", "check_format", "check_tidy", "fuzz"):
            command = [str(self.root / "tools" / tool), "--nonsense"]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(run.returncode, 2, tool)
            self.assertIn("error: unknown argument: --nonsense", run.stderr)
            self.assertIn(f"usage: tools/{tool}", run.stderr)

    def test_a_checkout_that_cannot_be_written_is_told_so(self):
        (self.root / "deps").touch()  # a file in its place: not even root can make the folder
        code, output = self.run_setup(CUDA_HOME=self.toolkit("new", 13000))
        self.assertEqual(code, 1, output)
        self.assertIn("cannot be written to", output)
        self.assertIn("hint: ", output)

    def test_a_full_disk_is_named_as_the_reason(self):
        self.stand_in("dpkg-query", "exit 1")
        self.stand_in("id", "echo 0")
        self.stand_in("apt-get", "echo 'tar: write error: No space left on device' >&2; exit 100")
        code, output = self.run_setup(CUDA_HOME=self.toolkit("new", 13000))
        self.assertEqual(code, 1, output)
        self.assertIn("hint: the disk is full", output)

    def test_without_a_network_that_is_the_hint(self):
        self.stand_in("dpkg-query", "exit 1")
        self.stand_in("id", "echo 0")
        self.stand_in("apt-get", """case "$*" in
            *update*Error-Mode=any*) echo 'E: Temporary failure resolving a name' >&2; exit 100 ;;
            *) echo 'E: Unable to locate package ninja-build' >&2; exit 100 ;; esac""")
        code, output = self.run_setup(CUDA_HOME=self.toolkit("new", 13000))
        self.assertEqual(code, 1, output)
        self.assertIn("hint: is there a network?", output)

    def test_without_a_home_ccache_stays_in_the_checkout(self):
        script = '. "$root/tools/lib/common.sh"; use_environment; echo "[${CCACHE_DIR:-}]"'
        for home, expected in (("/nonexistent", f"[{self.root}/build/ccache]"), (str(self.root), "[]")):
            environment = {"PATH": "/usr/bin:/bin", "root": str(self.root), "HOME": home}
            run = subprocess.run(["sh", "-euc", script], env=environment, capture_output=True, text=True, check=False)
            self.assertEqual(run.stdout.strip(), expected, run.stderr)

    def test_an_interrupted_run_leaves_nothing_running(self):
        script = self.root / "interrupted"
        script.write_text("""set -eu
            . "$root/tools/lib/common.sh"
            grandchild() { sh -c 'echo running >&"$READY"; exec sleep 1000' && echo not reached; }
            with_progress "something long" "$logs/long.log" grandchild
            """)
        ready, tell = os.pipe()
        environment = {"PATH": "/usr/bin:/bin", "root": str(self.root), "READY": str(tell)}
        run = subprocess.Popen(["sh", str(script)], env=environment, pass_fds=[tell], start_new_session=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        os.close(tell)
        with os.fdopen(ready) as pipe:
            self.assertEqual(pipe.readline(), "running\n")
            os.killpg(run.pid, signal.SIGINT)  # as a terminal does for Ctrl-C
            output, _ = run.communicate()
            self.assertEqual(pipe.read(), "")  # ends only when nobody is left who could write
        self.assertEqual(run.returncode, 130, output)
        self.assertIn("interrupted", output)


if __name__ == "__main__":
    unittest.main()
