#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares a softgpu library's exported symbols with the names in the headers and with the vendor's library.

Every public name must be exported, with the right version node, and defined by hand unless refused.txt lists it: a
definition whose signature drifts away from the header's would become another C++ function and leave its stub in place.
An exported name may be a front; what stands behind it is looked up in the library's object files.
"""
import argparse
import fnmatch
import pathlib
import struct
import sys

GLOBAL, WEAK = 1, 2
FRONTED = "softgpu_impl_"


class Elf:
    """The dynamic symbols of a 64-bit little-endian ELF file: {name: (binding, version)} of those that it defines."""

    def __init__(self, path):
        self.data = pathlib.Path(path).read_bytes()
        if self.data[:6] != b"\x7fELF\x02\x01":
            sys.exit(f"{path}: not a 64-bit little-endian ELF file")
        offset, = struct.unpack_from("<Q", self.data, 0x28)
        size, count, _ = struct.unpack_from("<HHH", self.data, 0x3A)
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.data, offset + i * size) for i in range(count)]

    def section(self, kind):
        return next((s for s in self.sections if s[1] == kind), None)

    def text(self, table, offset):
        start = self.sections[table][4] + offset
        return self.data[start:self.data.index(b"\0", start)].decode()

    def nodes(self):
        """{index: name} of the version nodes that the file defines."""
        found, verdef = {}, self.section(0x6FFFFFFD)
        at = verdef[4] if verdef else None
        while at is not None:
            _, _, index, _, _, aux, following = struct.unpack_from("<HHHHIII", self.data, at)
            name, _ = struct.unpack_from("<II", self.data, at + aux)
            found[index] = self.text(verdef[6], name)
            at = at + following if following else None
        return found

    def defined(self, kind=11):
        """kind: of the symbol table's section, 11 for the dynamic one, 2 for an object file's."""
        symbols, versions, nodes = self.section(kind), self.section(0x6FFFFFFF), self.nodes()
        found = {}
        for i in range(1, symbols[5] // 24):
            name, info, _, section, _, _ = struct.unpack_from("<IBBHQQ", self.data, symbols[4] + i * 24)
            if section in (0, 0xFFF1):  # undefined, or the node's own symbol
                continue
            index = struct.unpack_from("<H", self.data, versions[4] + i * 2)[0] & 0x7FFF if versions else 1
            found[self.text(symbols[6], name)] = (info >> 4, nodes.get(index, "") if index > 1 else "")
        return found


def behind_fronts(objects):
    """{public name: strongest binding of softgpu_impl_NAME} in the object files."""
    found = {}
    for path in objects:
        for name, (binding, _) in Elf(path).defined(kind=2).items():
            if name.startswith(FRONTED):
                public = name[len(FRONTED):]
                found[public] = GLOBAL if GLOBAL in (binding, found.get(public)) else binding
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--names", required=True, type=pathlib.Path, help="the public names, from the headers")
    parser.add_argument("--node", default="", help="the version node that each must have")
    parser.add_argument("--toolkit", type=pathlib.Path, help="the vendor's library; its names are compared if it is there")
    parser.add_argument("--refused", type=pathlib.Path, help="names, or patterns, that may stay stubs")
    parser.add_argument("--objects", nargs="*", default=[], help="the library's object files, if it has fronts")
    options = parser.parse_args()

    ours = Elf(options.ours).defined()
    wanted = {name: "headers" for name in options.names.read_text().split()}
    if options.toolkit and options.toolkit.exists():
        theirs = Elf(options.toolkit).defined()
        if not theirs:
            sys.exit(f"{options.toolkit}: no exported names")
        wanted |= {name: str(options.toolkit) for name in theirs}
        print(f"{len(theirs)} names of {options.toolkit}")
    else:
        print("no vendor library here: compared with the headers alone")
    refused = [l.split("#")[0].strip() for l in options.refused.read_text().splitlines()] if options.refused else ["*"]

    behind = behind_fronts(options.objects)
    faults, stubs = [], 0
    for name, source in sorted(wanted.items()):
        binding, node = ours.get(name, (None, None))
        stub = behind.get(name, binding) == WEAK
        stubs += stub
        if binding is None:
            faults.append(f"{name} ({source}) is not exported")
        elif node != options.node:
            faults.append(f"{name} has the version '{node}', not '{options.node}'")
        elif stub and not any(fnmatch.fnmatchcase(name, pattern) for pattern in refused):
            faults.append(f"{name} is a stub, but {options.refused.name} does not say that it is refused")
    print(f"{len(wanted)} names wanted, {len(ours)} exported, {stubs} of them stubs")
    if not wanted or faults:
        sys.exit("\n".join(faults) or "no names to compare")


if __name__ == "__main__":
    main()
