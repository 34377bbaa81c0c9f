"""Look into the sdist and the wheel of a folder: one of each, and nothing missing.

Usage: ``python tools/check_dist.py dist [TAG]``. Needs nothing but Python.
"""

import re
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
# What users of the sdist look for, beside every file of src/ and tests/.
EXPECTED = (
    ".github/workflows/tests.yml",
    ".pre-commit-config.yaml",
    "CHANGELOG.md",
    "CITATION.cff",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "PKG-INFO",
    "README.md",
    "SECURITY.md",
    "SUPPORT.md",
    "docs/architecture.md",
    "pyproject.toml",
)
# Leftovers that must not be shipped.
FOLDERS = r"__pycache__|\.venv[^/]*|\.git|\.\w+_cache|demo|dist"
REFUSED = re.compile(rf"(^|/)({FOLDERS})/|\.py[co]$")


def main() -> None:
    """Check the files of the folder given, and the tag if there is one."""
    folder, *tag = sys.argv[1:]
    version = version_of_source()
    if tag and tag[0].removeprefix("v") != version:
        sys.exit(f"the tag is {tag[0]}, but src/ekss/__init__.py says {version}")
    files = sorted(path.name for path in Path(folder).iterdir())
    wheel, sdist = f"ekss-{version}-py3-none-any.whl", f"ekss-{version}.tar.gz"
    if files != [wheel, sdist]:
        sys.exit(f"{folder} holds {files}; expected {wheel} and {sdist}")
    with tarfile.open(Path(folder) / sdist) as archive:
        shipped = {name.partition("/")[2] for name in archive.getnames()}
    own = {
        path.relative_to(ROOT).as_posix()
        for part in ("src", "tests")
        for path in (ROOT / part).rglob("*")
        if path.is_file() and not REFUSED.search(path.relative_to(ROOT).as_posix())
    }
    complain(sdist, {*EXPECTED, *own} - shipped, shipped)
    with zipfile.ZipFile(Path(folder) / wheel) as archive:
        packed = set(archive.namelist())
    package = {name.removeprefix("src/") for name in own if name.startswith("src/")}
    info = f"ekss-{version}.dist-info/"
    about = {info + "METADATA", info + "entry_points.txt", info + "licenses/LICENSE"}
    complain(wheel, {*package, *about} - packed, packed)
    strays = {name for name in packed if not name.startswith(("ekss/", info))}
    if strays:
        sys.exit(f"{wheel} holds what is not ours: {sorted(strays)}")
    print(f"{sdist}: {len(shipped)} names; {wheel}: {len(packed)} names")


def version_of_source() -> str:
    """Return the version that the source states."""
    text = (ROOT / "src" / "ekss" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.+)"$', text, re.M)
    if found is None:
        sys.exit("src/ekss/__init__.py has no line __version__ = ...")
    return found[1]


def complain(archive: str, missing: set[str], names: set[str]) -> None:
    """End with a message if something is missing from an archive, or too much."""
    refused = {name for name in names if REFUSED.search(name)}
    if missing or refused:
        sys.exit(f"{archive}: missing {sorted(missing)}; refused {sorted(refused)}")


if __name__ == "__main__":
    main()
