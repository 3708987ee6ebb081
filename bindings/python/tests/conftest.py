"""What every test has: a time limit, and a folder for lock files that is no network file system."""

import faulthandler
import os
import sys

import pytest

# In seconds. TURNLOCK_CHECK_PATIENCE makes it longer, as it does for ./check.
LIMIT = 240 * float(os.environ.get("TURNLOCK_CHECK_PATIENCE", "1"))


@pytest.fixture(autouse=True)
def limit():
    """Ends the run where a test takes too long, and says where each thread stood."""
    faulthandler.dump_traceback_later(LIMIT, exit=True, file=sys.__stderr__)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def path(tmp_path):
    """Where a lock file may be created."""
    return str(tmp_path / "app.lock")
