# SPDX-License-Identifier: Apache-2.0
"""Which exported symbol answers a request for (plain name, version): the table behind cuGetProcAddress.

cudaTypedefs.h has one PFN_cuX_vNNNN per version at which the ABI of cuX changed, cuda.h one symbol cuX, cuX_v2, … per
ABI. The n-th version belongs to the n-th symbol when there are as many of both and their signatures agree; anything
else has to be settled by hand below. The generated code asserts every pair again, with the compiler's own types.
"""
import collections
import dataclasses
import re

from cuda_headers import HeaderError

# (plain name, version) -> symbol, each with the reason why the rule cannot decide. Empty for CUDA 13.0.
SETTLED_BY_HAND = {}

TWIN_SUFFIXES = ("_ptsz", "_ptds")


@dataclasses.dataclass(frozen=True)
class Proc:
    name: str
    version: int
    symbol: str
    twin: str  # the per-thread-default-stream symbol, or ""
    twin_type: str  # its PFN_ type, or ""


def twin_of(symbol, functions):
    return next((symbol + s for s in TWIN_SUFFIXES if symbol + s in functions), "")


def base_of_twin(name):
    return name[:-5] if name.endswith(TWIN_SUFFIXES) else ""


def families(functions, pattern):
    """{plain name: {number: Function}} for names that match `pattern` (groups: plain name, number, twin suffix)."""
    grouped = collections.defaultdict(dict)
    for function in functions.values():
        match = re.fullmatch(pattern, function.name)
        if match and not match[3]:
            grouped[match[1]][int(match[2] or 1)] = function
    return grouped


def match_versions(name, versions, symbols, resolve):
    """[(version, symbol)] in the order of versions."""
    by_age, numbered = sorted(versions), sorted(symbols)
    pairs = []
    for i, version in enumerate(by_age):
        by_hand = SETTLED_BY_HAND.get((name, version))
        symbol = symbols[numbered[i]] if i < len(numbered) else None
        if by_hand:
            pairs.append((version, by_hand))
        elif len(by_age) == len(numbered) and versions[version].signature(resolve) == symbol.signature(resolve):
            pairs.append((version, symbol.name))
        else:
            raise HeaderError(
                f"{name}: versions {by_age} cannot be matched with {[s.name for s in symbols.values()]}: "
                "settle it in SETTLED_BY_HAND (tools/lib/cuda_procs.py)")
    return pairs


def proc_table(functions, pointers, resolve):
    """[Proc] for every public driver function, sorted by name and version."""
    symbols = families(functions, r"(cu\w+?)(?:_v(\d+))?(_ptsz|_ptds)?")
    versions = families(pointers, r"PFN_(cu\w+?)_v(\d+)(_ptsz|_ptds)?")
    missing = sorted(set(symbols) ^ set(versions))
    if missing:
        raise HeaderError(f"declared in only one of cuda.h and cudaTypedefs.h: {' '.join(missing)}")
    twin_types = {}
    for name, pointer in pointers.items():
        match = re.fullmatch(r"PFN_(cu\w+?)_v(\d+)(_ptsz|_ptds)", name)
        if match:
            twin_types.setdefault(match[1], []).append(pointer)
    table = []
    for name in sorted(symbols):
        for version, symbol in match_versions(name, versions[name], symbols[name], resolve):
            twin = twin_of(symbol, functions)
            wanted = functions[twin].signature(resolve) if twin else None
            fitting = [p.name for p in twin_types.get(name, []) if p.signature(resolve) == wanted]
            if twin and not fitting:
                raise HeaderError(f"{twin} has no PFN_{name}_v…{twin[-5:]} of its signature in cudaTypedefs.h")
            # Of several with one signature the one of the same version; where a twin came later than its name, the newest.
            same_age = [t for t in fitting if f"_v{version}_" in t]
            table.append(Proc(name, version, symbol, twin, (same_age or fitting)[-1] if twin else ""))
    return table
