# SPDX-License-Identifier: Apache-2.0
"""Reads entry_points.txt, the one table of entry points. Its format is described at its top."""
import dataclasses
import pathlib
import re

PATH = pathlib.Path(__file__).resolve().parent / "entry_points.txt"
LAYERS = ("driver", "runtime", "nvml", "libc")
MEMORY = ("device", "pool", "managed", "array", "pinned", "registered", "reservation", "physical", "mapping", "multicast", "imported",
          "graph", "limit", "peer", "module", "context")
WORK = ("launch", "copy", "fill", "managed", "host", "graph", "event", "stream", "capture", "sync", "context", "interop")
# action: the classes it may have; an action without classes has none.
ACTIONS = {"serve": MEMORY, "account": MEMORY, "translate": ("info", "process", "device", "pool"), "invalidate": ("context", "code"), "order": WORK,
           "resolve": (), "pass": ()}
FIRST, LAST = (12, 0), (13, 4)  # the toolkits that the table covers
NO_STREAM, IN_A_STRUCTURE = -1, -2
NAME = re.compile(r"(?P<name>\w+)(?P<twin>\+)?(?::(?P<stream>\d+|\*))?(?P<changed>!(?P<stream_13>\d+)?)?(?:=(?P<version>\d+))?"
                  r"(?:@(?P<first>\d+\.\d+)?(?:\.\.(?P<last>\d+\.\d+))?)?")


class TableError(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Entry:
    name: str
    layer: str
    action: str
    kind: str  # the class, or ""
    twin: str  # the per-thread twin's name, or ""
    stream_12: int  # index of the stream parameter, NO_STREAM or IN_A_STRUCTURE; in libcudart.so.12 …
    stream: int  # … and in everything else
    changed: bool  # another ABI in libcudart.so.13
    version: int  # of cuGetProcAddress; a guess from `first` where the table gives none, 0 for what 12.0 had
    first: tuple  # toolkit (12, 8)
    last: tuple

    def in_toolkit(self, version):
        return self.first <= version <= self.last

    def in_runtime(self, major):
        return self.first[0] <= major <= self.last[0]


def number(text, otherwise):
    return tuple(map(int, text.split("."))) if text else otherwise


def stream_index(text):
    return NO_STREAM if text is None else IN_A_STRUCTURE if text == "*" else int(text)


def parse_heading(text):
    layer, action, kind = (text.split() + ["", ""])[:3]
    if len(text.split()) not in (2, 3) or layer not in LAYERS or action not in ACTIONS:
        raise TableError(f"[{text}]: not a layer and an action")
    if kind not in (ACTIONS[action] or ("",)):
        raise TableError(f"[{text}]: {action} has the classes: {' '.join(ACTIONS[action]) or 'none'}")
    return layer, action, kind


def parse_name(text, layer, action, kind):
    match = NAME.fullmatch(text)
    if not match or text.endswith("@"):
        raise TableError(f"{text}: cannot be read")
    name, changed = match["name"], match["changed"] is not None
    if name.endswith(("_ptsz", "_ptds")):
        raise TableError(f"{name}: a twin has what its base name has, it is not listed")
    if changed and layer != "runtime":
        raise TableError(f"{text}: only the runtime has two libraries")
    if action == "pass" and (match["twin"] or match["stream"]):
        raise TableError(f"{text}: the marks + and : are not given for pass")
    first, last = number(match["first"], FIRST), number(match["last"], LAST)
    if not FIRST <= first <= last <= LAST:
        raise TableError(f"{text}: not within {FIRST[0]}.{FIRST[1]}..{LAST[0]}.{LAST[1]}")
    stream_12 = stream_index(match["stream"])
    # What hands out functions has a twin that hands out functions which take a stream.
    suffix = "_ptsz" if stream_12 != NO_STREAM or action == "resolve" else "_ptds"
    version = int(match["version"] or (0 if first == FIRST else first[0] * 1000 + first[1] * 10))
    return Entry(name=name, layer=layer, action=action, kind=kind, twin=name + suffix if match["twin"] else "", stream_12=stream_12,
                 stream=int(match["stream_13"]) if match["stream_13"] else stream_12, changed=changed, version=version, first=first, last=last)


def parse(text):
    """{name: Entry}, in the order of the table."""
    entries, heading = {}, None
    for at, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0].strip()
        try:
            if line.startswith("["):
                heading = parse_heading(line.strip("[]"))
                continue
            for word in line.split():
                if not heading:
                    raise TableError(f"{word}: stands before the first section")
                entry = parse_name(word, *heading)
                if entry.name in entries:
                    raise TableError(f"{entry.name}: listed twice")
                entries[entry.name] = entry
        except TableError as error:
            raise TableError(f"line {at}: {error}") from None
    if not entries:
        raise TableError("no names in it")
    return entries


def load(path=PATH):
    try:
        return parse(pathlib.Path(path).read_text())
    except TableError as error:
        raise TableError(f"{path}: {error}") from None


def find(entries, symbol):
    """The entry of a symbol; a twin's is its base name's. None when the table has none."""
    if symbol in entries:
        return entries[symbol]
    base = entries.get(symbol[:-5]) if symbol.endswith(("_ptsz", "_ptds")) else None
    return base if base and base.twin in ("", symbol) else None
