#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Takes a few files out of a large wheel: wheel_headers.py REQUIREMENTS HASHES OUT_FOLDER [PIP OPTION...]

cuBLAS has no wheel of headers alone, and the whole one weighs 423 MB for 0.6 MB of headers. First the files are read
by range requests through pip's own session, so that its index, proxy and certificate settings hold; where that is
refused (an older index, a pip whose inside has changed) the wheel is downloaded, checked and thrown away. Every file
is compared with its pinned hash either way. A name in HASHES is a path in the wheel, or a header's name alone. The
options say which wheel where pip would take another one (--python-version and the like). Run it with the Python of
deps/venv."""
import hashlib
import pathlib
import subprocess
import sys
import tempfile
import zipfile


def read_requirement(path):
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            return line.split()[0]
    raise SystemExit(f"error: {path}: no requirement in it")


def read_hashes(path):
    """name -> SHA-256, from the lines that sha256sum writes."""
    return {name: digest for digest, name in (line.split() for line in path.read_text().splitlines() if line)}


def extract(archive, wanted):
    """Returns name -> content for the wanted files; refuses a missing or a different one."""
    found = {}
    for member in archive.namelist():
        name = member if member in wanted else member.rsplit("/", 1)[-1]
        if name not in wanted or (name != member and "/include/" not in member):
            continue
        content = archive.read(member)
        digest = hashlib.sha256(content).hexdigest()
        if digest != wanted[name]:
            raise ValueError(f"{name}: hash {digest}, pinned {wanted[name]}")
        found[name] = content
    missing = sorted(set(wanted) - set(found))
    if missing:
        raise ValueError(f"not in the wheel: {', '.join(missing)}")
    return found


def by_ranges(requirement, wanted, choice):
    from pip._internal.cli.cmdoptions import make_target_python
    from pip._internal.commands import create_command
    from pip._internal.network.lazy_wheel import LazyZipOverHTTP
    from pip._vendor.packaging.requirements import Requirement

    command = create_command("download")
    with command.main_context():
        options, _ = command.parse_args(["--no-deps", "--only-binary", ":all:", *choice, requirement])
        session = command.get_default_session(options)
        finder = command._build_package_finder(options=options, session=session, target_python=make_target_python(options))
        asked = Requirement(requirement)
        best = finder.find_best_candidate(asked.name, asked.specifier).best_candidate
        if best is None:
            raise LookupError(f"{requirement}: not in the index")
        return extract(zipfile.ZipFile(LazyZipOverHTTP(best.link.url_without_fragment, session)), wanted)


def by_download(requirements, wanted, scratch, choice):
    with tempfile.TemporaryDirectory(prefix="wheel-", dir=scratch) as folder:
        pip = [sys.executable, "-m", "pip", "download", "--no-input", "--disable-pip-version-check", "--no-cache-dir"]
        pip += ["--no-deps", "--only-binary", ":all:", "--require-hashes", "--dest", folder, *choice, "-r", str(requirements)]
        subprocess.run(pip, check=True)
        (wheel,) = pathlib.Path(folder).glob("*.whl")
        return extract(zipfile.ZipFile(wheel), wanted)


def main():
    if len(sys.argv) < 4:
        raise SystemExit(__doc__)
    requirements, hashes, out = (pathlib.Path(a) for a in sys.argv[1:4])
    choice = sys.argv[4:]
    wanted = read_hashes(hashes)
    out.mkdir(parents=True, exist_ok=True)
    try:
        found = by_ranges(read_requirement(requirements), wanted, choice)
    except Exception as reason:  # whatever goes wrong on the short way, the long way is still open
        print(f"range requests did not work ({type(reason).__name__}: {reason}); downloading the whole wheel")
        try:
            found = by_download(requirements, wanted, out, choice)
        except (subprocess.CalledProcessError, ValueError) as failure:
            raise SystemExit(f"error: {requirements.name}: {failure}")
    for name, content in found.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_bytes(content)
    print(f"{len(found)} files, {sum(map(len, found.values()))} bytes")


if __name__ == "__main__":
    main()
