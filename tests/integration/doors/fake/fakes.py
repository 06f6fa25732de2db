#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes libraries that stand in for CUDA's: every name of the table, each of which notes its registers and its stack.

fakes.py OUT --compiler C++ --include DIR...: driver.S, driver.inc, driver.map and the same for runtime12, runtime13;
driver11.map of a driver before cuGetProcAddress_v2; typed.inc with the order entries that the plain headers declare."""
import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path[:0] = [str(ROOT / "interpose" / "entry_points"), str(ROOT / "tools" / "lib")]

import cuda_headers  # noqa: E402
import generate as entry_points  # noqa: E402
import table  # noqa: E402

def symbols_of(entries, layer, major, declared):
    """Sorted; a twin of a name that is passed is known to the headers alone."""
    names = set()
    for entry in entries.values():
        if entry.layer == layer and (not major or entry.in_runtime(major)):
            names |= {entry.name, *filter(None, [entry.twin])}
    return sorted(names | {n for n in declared if (e := table.find(entries, n)) and e.layer == layer and (not major or e.in_runtime(major))})


def assembly(symbols, version):
    """Each name exists twice: as it is exported, and as cuGetProcAddress hands it out."""
    lines = ["/* Generated: do not edit. */\n  .hidden fake_overrides\n  .hidden fake_note\n  .text\n"]
    for i, symbol in enumerate(symbols):
        for way, label in enumerate((f"fake_{symbol}", f"fake_handed_{symbol}")):
            lines.append(f"  .p2align 4\n  .globl {label}\n  .type {label}, @function\n{label}:\n  endbr64\n"
                         f"  movq fake_overrides + {8 * i}(%rip), %r11\n  testq %r11, %r11\n  jz 1f\n  jmp *%r11\n"
                         f"1:pushq ${2 * i + way}\n  jmp fake_note\n  .size {label}, . - {label}\n")
        if version:
            lines.append(f"  .symver fake_{symbol}, {symbol}@@{version}, remove\n")
        else:
            lines.append(f"  .globl {symbol}\n  .set {symbol}, fake_{symbol}\n  .type {symbol}, @function\n")
    return "".join(lines) + '  .section .note.GNU-stack, "", @progbits\n'


def script(symbols, version):
    own = "fake_override; fake_calls; fake_forget; fake_looks_up;"
    if version:
        return f"{version} {{ }};\nFAKE_1 {{ global: {own} local: *; }};\n"
    return "{ global: " + own + "".join(f" {s};" for s in symbols) + " local: *; };\n"


def rows(symbols, procs):
    """FAKE_NAME(symbol) in order, and FAKE_PROC(plain, version, symbol, twin or 0)."""
    text = "".join(f"FAKE_NAME({s})\n" for s in symbols)
    return text + "".join(f"FAKE_PROC({p.name}, {p.version}, {p.symbol}, {p.twin or 0})\n" for p in procs)


def typed(entries, preprocess):
    """TYPED(symbol, Library): order entries that cuda.h and cuda_runtime_api.h declare."""
    lines = []
    for layer, header, names in (("driver", "cuda.h", r"cu[A-Z]\w*"), ("runtime", "cuda_runtime_api.h", r"cuda[A-Z]\w*")):
        declared = cuda_headers.parse_functions(preprocess([header], ["__CUDA_API_VERSION_INTERNAL"]), names)
        for symbol in sorted(declared):
            entry = table.find(entries, symbol)
            if entry and entry.layer == layer and entry.action == "order":
                libraries = ["Driver"] if layer == "driver" else [f"Runtime{m}" for m in (12, 13) if entry.in_runtime(m) and (m == 13 or not entry.changed)]
                lines += [f"TYPED({symbol}, {library})\n" for library in libraries]
    return "".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("--include", action="append", default=[])
    options = parser.parse_args()
    headers = entry_points.Headers(options.compiler, options.include)
    entries = table.load()
    procs = [p for found in headers.procs.values() for p in found]
    options.out.mkdir(parents=True, exist_ok=True)
    for name, layer, major, declared in (("driver", "driver", 0, headers.driver), ("runtime12", "runtime", 12, headers.runtime),
                                         ("runtime13", "runtime", 13, headers.runtime)):
        symbols = symbols_of(entries, layer, major, declared)
        version = f"libcudart.so.{major}" if major else ""
        files = {f"{name}.S": assembly(symbols, version), f"{name}.map": script(symbols, version),
                 f"{name}.inc": rows(symbols, sorted(procs, key=lambda p: (p.name, p.version)) if layer == "driver" else [])}
        for file, text in files.items():
            (options.out / file).write_text(text)
        if name == "driver":
            (options.out / "driver11.map").write_text(script([s for s in symbols if s != "cuGetProcAddress_v2"], version))
    (options.out / "typed.inc").write_text(typed(entries, headers.preprocess))


if __name__ == "__main__":
    main()
