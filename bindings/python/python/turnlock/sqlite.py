"""Puts the writers of SQLite databases in order, in a Python whose `sqlite3` module loads no extensions, too.

`register()` loads the extension `turnlock_vfs` (integrations/sqlite) into the SQLite library that this process uses. From then on
it is the default of every database that `sqlite3.connect` opens.
"""

import ctypes
import os
import sqlite3

__all__ = ["register"]

_NAME = "turnlock_vfs.so"
_OK = 0
_ENABLE_LOAD_EXTENSION = 1005
_FOLDERS = ("/usr/local/lib", "/usr/lib")


def register(path: str | os.PathLike[str] | None = None, *, default: bool = True) -> None:
    """Registers the VFS `turnlock` with SQLite, in this process.

    `path` is that of `turnlock_vfs.so`; if it is not given, that of the environment's `TURNLOCK_SQLITE_VFS`, or of the library
    folders. With `default=False` only a database that names it has it: `file:PATH?vfs=turnlock`.

    Raises `FileNotFoundError` if the extension is not installed, `OSError` if this SQLite cannot load it.
    """
    extension = _find(path)
    library = _library()
    database = ctypes.c_void_p()
    if library.sqlite3_open(b":memory:", ctypes.byref(database)) != _OK:
        raise OSError("SQLite opens no database in memory")
    try:
        library.sqlite3_db_config(database, _ENABLE_LOAD_EXTENSION, ctypes.c_int(1), ctypes.c_void_p())
        entry = None if default else b"sqlite3_turnlockvfs_by_name_init"
        message = ctypes.c_char_p()
        status = library.sqlite3_load_extension(database, os.fsencode(extension), entry, ctypes.byref(message))
        if status != _OK:
            why = (message.value or b"it does not say why").decode(errors="replace")
            raise OSError(f"SQLite does not load {extension}: {why}")
    finally:
        library.sqlite3_close(database)


def _find(path: str | os.PathLike[str] | None) -> str:
    given = path or os.environ.get("TURNLOCK_SQLITE_VFS")
    if given:
        if not os.path.exists(given):
            raise FileNotFoundError(f"{os.fspath(given)} is not there: build the extension by ./install.sh of turnlock")
        return os.path.abspath(given)
    # Where the linker looks by LD_LIBRARY_PATH, and where it is installed.
    folders = [*filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":")), *_FOLDERS]
    for folder in folders:
        found = os.path.join(folder, _NAME)
        if os.path.exists(found):
            return found
    raise FileNotFoundError(
        f"{_NAME} is in none of {', '.join(folders)}: build it by ./install.sh of turnlock, with SQLite's headers there "
        "(Debian: libsqlite3-dev), or name it in TURNLOCK_SQLITE_VFS"
    )


def _library() -> ctypes.CDLL:
    """Returns the SQLite library that the module `sqlite3` calls, which is the one to register with."""
    import _sqlite3

    place = getattr(_sqlite3, "__file__", None)
    # The dynamic linker looks for a symbol in what the module is linked with, too. Without a file it is a part of the interpreter.
    library = ctypes.CDLL(place)
    missing = [name for name in ("sqlite3_open", "sqlite3_load_extension") if not hasattr(library, name)]
    if missing:
        raise OSError(
            f"this Python has SQLite {sqlite3.sqlite_version} built in, and {missing[0]} cannot be reached in it: use a Python "
            "that is linked with libsqlite3.so"
        )
    for name in ("sqlite3_open", "sqlite3_close", "sqlite3_load_extension"):
        getattr(library, name).restype = ctypes.c_int
    return library
