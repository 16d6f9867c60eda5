"""The wheel of a release: built, installed into an environment of its own, and used as the README says."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from conftest import ROOT, Server, environment

PROJECT = ROOT / "python"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # Without isolation, so that no package index is needed.
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(PROJECT))
    (made,) = folder.iterdir()
    return made


def pip(*words: str) -> None:
    run("-m", "pip", "--quiet", "--disable-pip-version-check", *words)


def run(*words: str, python: str = sys.executable, cwd: Path | None = None) -> str:
    done = subprocess.run(
        [python, *words], capture_output=True, text=True, env=environment(), cwd=cwd
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_holds_the_package_its_types_and_its_license(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    sources = PROJECT / "src"
    package = [path.relative_to(sources).as_posix() for path in sources.rglob("*.py")]
    assert {*package, "fathom_client/py.typed"} <= set(names)
    others = [name for name in names if not name.startswith("fathom_client/")]
    assert all(".dist-info/" in name for name in others)
    assert any(name.endswith("/LICENSE") for name in others)


def test_it_runs_the_example_of_the_readme(
    wheel: Path, server: Server, key: str, tmp_path: Path
) -> None:
    run("-m", "venv", "--without-pip", str(tmp_path / "env"))
    python = str(tmp_path / "env/bin/python")
    pip("--python", python, "install", "--no-deps", "--no-index", str(wheel))
    # What it depends on is that of this environment, whose link to the sources does not count there.
    (packages,) = (tmp_path / "env/lib").glob("*/site-packages")
    (packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")

    found = re.findall(r"^```python\n(.+?)^```$", (PROJECT / "README.md").read_text(), re.M | re.S)
    (example,) = found
    assert "http://127.0.0.1:8080" in example
    program = example.replace("http://127.0.0.1:8080", server.url)
    where = "\nimport fathom_client; print(fathom_client.__file__)"
    printed = run("-c", f"key = {key!r}\n{program}{where}", python=python, cwd=tmp_path)
    assert Path(printed.strip()).is_relative_to(packages)
    assert "support_usd" in (tmp_path / "depth.html").read_text()
