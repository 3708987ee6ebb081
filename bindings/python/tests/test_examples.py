"""The programs in examples/ that use the package, and the bench."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from children import PATIENCE

ROOT = Path(__file__).parent.parent.parent.parent


def run(*arguments, **options):
    done = subprocess.run([str(each) for each in arguments], capture_output=True, text=True, timeout=PATIENCE, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def library():
    """The folder of libturnlock.so, which `check` has built; TURNLOCK_LIBRARY names the file."""
    named = os.environ.get("TURNLOCK_LIBRARY")
    folders = [Path(named).parent] if named else [ROOT / "target" / kind for kind in ("release", "debug")]
    for folder in folders:
        if (folder / "libturnlock.so").exists():
            return folder
    pytest.skip("C: no libturnlock.so: cargo build --lib")


def test_a_pool_and_a_c_program_write_one_json_file(tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("C: no compiler (cc)")
    folder, source = library(), ROOT / "examples" / "tally"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", ROOT / "include", "-L", folder, "-lturnlock"]
    run("cc", source / "tally.c", "-o", tmp_path / "tally-c", *flags, f"-Wl,-rpath,{folder}")
    tally = tmp_path / "tally.json"
    tally.write_text('{"c": 0, "python": 0, "total": 0}')
    beside = subprocess.Popen([str(tmp_path / "tally-c"), str(tmp_path), "2000"])
    run(sys.executable, source / "tally.py", tmp_path, 2000)
    assert beside.wait(timeout=PATIENCE) == 0
    assert json.loads(tally.read_text()) == {"c": 2000, "python": 2000, "total": 4000}


def test_the_next_one_leads_when_the_leader_is_killed(tmp_path):
    said = run(sys.executable, ROOT / "examples" / "leader.py", tmp_path)
    terms = [int(term) for term in re.findall(r"leader of term (\d+)", said)]
    leaders = re.findall(r"^(\w+): leader of term", said, re.M)
    assert len(terms) == 3 and terms == sorted(set(terms)), said
    assert sorted(leaders) == ["anna", "ben", "clara"], said
    assert re.findall(r"killed (\w+)", said) == leaders[:2], said
    assert re.findall(r": (\w+) died in term", said) == leaders[:2], said
    assert said.endswith(f"{leaders[2]}: steps down\n")
    assert (tmp_path / "leader").read_text() == f"{leaders[2]} {terms[2]}\n"


def test_the_bench_says_what_it_compares():
    said = run(sys.executable, ROOT / "bindings" / "python" / "bench.py", "--quick")
    for name in ("threading.Lock", "multiprocessing.Lock", "turnlock.Lock", "turnlock.RLock", "the bar is"):
        assert name in said
