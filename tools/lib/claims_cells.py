# SPDX-License-Identifier: Apache-2.0
"""Runs of tidemark-train under `tidemark run`, and what is read of them: for tools/claims.

A cell is a set of the trainer's flags, dry or computed. Claims ask a Bench for the cells they need; a first pass over
all claims finds out which those are, so that they can run beside each other, the computed ones alone."""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile


class Needed(Exception):
    """A cell was asked for that has not been run yet."""


class Cell:
    def __init__(self, report, said, code):
        self.fits = code == 0
        self.said = said or {}
        self.live = report["peak_live_bytes"]
        self.reserved = report["peak_reserved_bytes"]
        self.kinds = report["peak"]["by_kind"]
        self.phase = report["peak"]["phase"]
        self.steps = report["steps"]
        self.after = None  # reserved bytes when a step had ended
        self.end_live = report["end_live_bytes"]

    def kind(self, name):
        return self.kinds.get(name, 0)

    @property
    def parameters(self):
        return self.said["parameters"]


class Bench:
    def __init__(self, build, execute):
        self.tidemark, self.trainer = build / "bin/tidemark", build / "bin/tidemark-train"
        for program in (self.tidemark, self.trainer):
            if not program.exists():
                sys.exit(f"error: {program} is not built\nhint: cmake --build --preset release --target demo")
        self.execute = execute
        self.cells, self.wanted, self.runs = {}, [], 0

    # ---- asked by claims
    def dry(self, flags, memory="512GiB"):
        return self._cells([(flags, memory, None, False)])[0]

    def dry_all(self, *flags, memory="512GiB", after_step=None):
        return self._cells([(one, memory, after_step, False) for one in flags])

    def computed_all(self, *flags):
        """What the trainer said of each; None where nothing is to be computed."""
        if not self.execute:
            return None
        return [cell.said for cell in self._cells([(one, "16GiB", None, True) for one in flags])]

    def slowdown(self, flags, baseline, rounds=5):
        """The fastest step of some runs by that of the baseline's, which alternate."""
        if not self.execute:
            return None
        keys = [(one + " " * (i + 1), "16GiB", None, True) for i in range(rounds) for one in (flags, baseline)]
        fastest = [min(cell.said["step_cpu_ns"][1:]) for cell in self._cells(keys)]
        return min(fastest[0::2]) / min(fastest[1::2])

    def largest_all(self, *flags, memory):
        """Of each, the largest value for {n} with which it fits."""
        return self.together(*(lambda one=one: self.largest(one, memory) for one in flags))

    def together(self, *questions):
        """The answers, with what they need run beside each other."""
        answers = []
        for question in questions:
            try:
                answers.append(question())
            except Needed:
                pass
        if len(answers) < len(questions):
            raise Needed
        return answers

    def largest(self, flags, memory, least=1, most=1 << 20):
        """The largest value for {n} in the flags with which it fits, by bisection with runs."""
        low, high = least - 1, most + 1
        step = least
        while high > most:
            if self.dry(flags.format(n=step), memory).fits:
                low, step = step, step * 2
            else:
                high = step
        while high - low > 1:
            middle = (low + high) // 2
            if self.dry(flags.format(n=middle), memory).fits:
                low = middle
            else:
                high = middle
        return low

    # ---- running them
    def _cells(self, keys):
        missing = [key for key in keys if key not in self.cells]
        self.wanted += missing
        if missing:
            raise Needed
        return [self.cells[key] for key in keys]

    def _run(self, key):
        flags, memory, after_step, execute = key
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder) / "run.tide"
            words = [self.tidemark, "run", "-o", trace, "--device", "soft:a100-80g", "--memory", memory, "--mode", "cache",
                     "--execute" if execute else "--dry-run", "--", self.trainer, *flags.split(), "--format", "json"]
            # One thread: threads that wait for each other on a machine with other work measure that work.
            environment = dict(os.environ, SOFTGPU_QUIET="1", SOFTGPU_WORKERS="1", SOFTGPU_BLAS_THREADS="1")
            done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
            report = self._report(trace)
            if report is None or (done.returncode != 0 and report["oom"] is None):
                sys.exit(f"error: tidemark-train {flags}\n{done.stderr}")
            cell = Cell(report, json.loads(done.stdout) if done.returncode == 0 else None, done.returncode)
            if after_step is not None:
                end = next(step["end_ns"] for step in cell.steps if step["step"] == after_step)
                cell.after = self._report(trace, "--at", f"{end}ns")["at"]["reserved_bytes"]
            return cell

    def _report(self, trace, *more):
        done = subprocess.run([self.tidemark, "report", trace, "--format", "json", "--top", "1", *more], capture_output=True, text=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def _run_wanted(self):
        keys = list(dict.fromkeys(self.wanted))
        self.wanted = []
        self.runs += len(keys)
        beside = [key for key in keys if not key[3]]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            self.cells.update(zip(beside, pool.map(self._run, beside)))
        for key in keys:
            if key[3]:
                self.cells[key] = self._run(key)

    def sections(self, claims):
        """Each claim is asked until it has what it needs; those that wait for cells wait together."""
        done = {}
        while len(done) < len(claims):
            for claim in claims:
                if claim.title in done:
                    continue
                try:
                    done[claim.title] = claim.section(self)
                except Needed:
                    pass
            if self.wanted:
                self._run_wanted()
        return [done[claim.title] for claim in claims]
