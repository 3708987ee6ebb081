"""What stands twice is the same: versions, status numbers, names, stubs; and what the documents say runs."""

import doctest
import importlib
import multiprocessing
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import turnlock
import turnlock.aio
import turnlock.multiprocessing
from children import PATIENCE
from turnlock import _errors, _native

HERE = Path(__file__).parent.parent
ROOT = HERE.parent.parent


def version_of(folder):
    """The version of the package of a Cargo.toml."""
    text = (folder / "Cargo.toml").read_text()
    return re.search(r'^\[package\]$.*?^version = "(.*?)"$', text, re.M | re.S).group(1)


def test_the_version_is_the_crates():
    from importlib.metadata import version

    numbers = {turnlock.__version__, version("turnlock"), version_of(HERE), version_of(ROOT)}
    assert len(numbers) == 1


def header():
    return (ROOT / "include" / "turnlock.h").read_text()


def test_the_abi_version_is_the_headers():
    (number,) = re.findall(r"^#define TURNLOCK_ABI_VERSION (\d+)$", header(), re.M)
    assert turnlock.ABI_VERSION == _native.abi_version == int(number)


def test_a_native_half_of_another_abi_version_is_refused():
    code = (
        "import sys, types; native = types.ModuleType('turnlock._native'); native.abi_version = 999;"
        "sys.modules['turnlock._native'] = native; import turnlock"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert "ImportError: turnlock: the native half has ABI version 999" in done.stderr


def test_every_status_number_has_its_exception():
    numbers = {int(number) for _, number in re.findall(r"^#define TURNLOCK_ERROR_(\w+) \(?(-\d+)\)?$", header(), re.M)}
    assert len(numbers) >= 31 and set(_errors.CLASSES) == numbers


def test_every_public_exception_is_in_use():
    public = {name for name in turnlock.__all__ if isinstance(getattr(turnlock, name), type)}
    exceptions = {name for name in public if issubclass(getattr(turnlock, name), Exception)}
    raised = {cls.__name__ for cls, _ in _errors.CLASSES.values()}
    assert exceptions == raised | {"LockIsADirectoryError", "Timeout", "NotRecoverableWarning"}


def test_timeout_max_is_threadings():
    text = (HERE / "src" / "arguments.rs").read_text()
    (number,) = re.findall(r"const TIMEOUT_MAX: f64 = ([\d_.]+);", text)
    assert float(number) == threading.TIMEOUT_MAX


def test_the_package_is_typed():
    folder = Path(turnlock.__file__).parent
    assert (folder / "py.typed").exists() and (folder / "_native.pyi").exists()


def test_the_stubs_say_what_the_modules_have(tmp_path):
    pytest.importorskip("mypy")
    # Elsewhere, so that it is the installed package that is looked at.
    command = [sys.executable, "-m", "mypy.stubtest", "turnlock"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr


def test_typed_programs_pass(tmp_path):
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(
        "import turnlock\n"
        "lock = turnlock.Lock('app.lock', 'accounts', death_policy='release')\n"
        "with lock as same:\n"
        "    token: int | None = same.fencing_token\n"
        "turnlock.Lock('app.lock', death_policy='nothing')\n"
        "with turnlock.lock('build.lock', timeout='soon'):\n"
        "    pass\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(program)], capture_output=True, text=True, cwd=tmp_path, timeout=PATIENCE
    )
    errors = re.findall(r"program.py:(\d+): error", done.stdout)
    assert errors == ["5", "6"], done.stdout + done.stderr


MODULES = ["turnlock", "turnlock.aio", "turnlock.multiprocessing", "turnlock._filelock", "turnlock._errors", "turnlock._facts"]


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_the_documentation_run(module):
    failed, tried = doctest.testmod(importlib.import_module(module))
    assert failed == 0 and (tried > 0 or module not in ("turnlock", "turnlock.aio", "turnlock._filelock"))


def test_the_names_of_multiprocessing_are_the_standard_modules():
    ours = turnlock.multiprocessing
    assert set(ours.__all__) == set(multiprocessing.__all__)
    for name in ours.__all__:
        assert type(getattr(ours, name)) is type(getattr(multiprocessing, name)), name
    for method in multiprocessing.get_all_start_methods():
        assert ours.get_context(method).get_start_method() == method
        assert type(ours.get_context(method)).__name__.removeprefix("_") == type(multiprocessing.get_context(method)).__name__
    with pytest.raises(ValueError, match="bicycle"):
        ours.get_context("bicycle")


def test_everything_public_is_documented():
    for name in turnlock.__all__:
        assert getattr(turnlock, name).__doc__, name
    locks = [turnlock.Lock, turnlock.RLock, turnlock.TurnRing, turnlock.FileLock, turnlock.aio.Lock, turnlock.aio.FileLock]
    for kind in [*locks, turnlock.Condition, turnlock.Event, turnlock.Barrier, turnlock.Once]:
        for name in dir(kind):
            if not name.startswith("_"):
                assert getattr(kind, name).__doc__, f"{kind.__name__}.{name}"


def test_examples_in_the_readme_run(tmp_path):
    text = (HERE / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(blocks) >= 3
    for block in blocks:
        done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, cwd=tmp_path, timeout=PATIENCE)
        assert done.returncode == 0, block + done.stderr
    for name in re.findall(r"`turnlock\.((?:aio\.)?\w+)", text):
        owner, _, last = name.rpartition(".")
        assert hasattr(turnlock.aio if owner else turnlock, last), name
