#!/usr/bin/env python3
"""Compares the tables of bindings/README.md with the sources: what a cell names must be in that language's sources and, but
for C functions, in its tests; and for a – the functions of the library that the feature takes must not be called. What a cell
of the table of bad input names must be in that language's tests.

The last line says how many cells passed and failed. A binding whose folder is not there is named as skipped.
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parent
# Of each language: its sources, its tests, and whether it calls the C ABI by name.
PLACES = {
    "C": (["include/turnlock.h"], ["tests", "examples"], False),
    "C++": (["bindings/cpp/turnlock"], ["bindings/cpp/tests"], True),
    "Python": (["bindings/python/src", "bindings/python/python"], ["bindings/python/tests"], False),
    "Node": (["bindings/node/lib"], ["bindings/node/tests"], True),
    "Go": (["bindings/go"], ["bindings/go"], True),
    "Java": (["bindings/java/src/main"], ["bindings/java/src/test"], True),
    "Rust": (["src"], ["tests", "examples"], False),
}
# What a binding that has a feature calls, without `turnlock_`.
CALLS = {
    "recursive mutex": r"MUTEX_RECURSIVE",
    "reader/writer lock": r"rwlock_open",
    "upgrade and downgrade": r"(rwlock|hold)_(try_)?upgrade",
    "semaphore": r"semaphore_open",
    "range lock": r"rangelock_open",
    "keyed lock": r"keyedlock_open",
    "group lock": r"grouplock_open",
    "turn ring": r"ring_open",
    "files by descriptor": r"file_open_descriptor",
    "remove a lock": r"file_remove_lock",
    "a lock of a file that was replaced": r"_reopen\b",
    "condition, event, barrier": r"(condition|condvar|event|barrier)_\w+",
    "a value in a lock": r"_value\b",
}
SUFFIXES = {".h", ".hpp", ".c", ".cpp", ".rs", ".py", ".pyi", ".js", ".ts", ".go", ".java"}


def text_of(places, is_test=None):
    found = []
    for place in places:
        path = TOP / place
        files = [path] if path.is_file() else sorted(path.rglob("*"))
        for file in files:
            if file.suffix not in SUFFIXES or {"target", "node_modules"} & set(file.relative_to(TOP).parts):
                continue
            # Go has both in one folder.
            if is_test is not None and place == "bindings/go" and file.name.endswith("_test.go") != is_test:
                continue
            found.append(file.read_text(errors="replace"))
    return "\n".join(found)


def rows(text):
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("| | C | C++ |"):
            languages = [cell.strip() for cell in line.strip("|").split("|")][1:]
            next(lines)
            for row in lines:
                if not row.startswith("|"):
                    return
                feature, *cells = [cell.strip() for cell in row.strip("|").split("|")]
                yield feature.replace("`", ""), dict(zip(languages, cells, strict=True))


def bad_input(text):
    """Of the table of bad input: language, column and what the cell names."""
    columns = None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| | wrong type"):
            columns = cells[1:]
        elif columns and not line.startswith("|"):
            return
        elif columns and cells[0] in PLACES:
            for column, cell in zip(columns, cells[1:], strict=True):
                yield cells[0], column, re.findall(r"`([^`]+)`", cell)


def main():
    passed, wrong, skipped = 0, [], set()
    sources = {language: text_of(places[0], is_test=False) for language, places in PLACES.items()}
    tests = {language: text_of(places[1], is_test=True) for language, places in PLACES.items()}
    header = (TOP / "include/turnlock.h").read_text()
    features = list(rows((HERE / "README.md").read_text()))
    for feature, cells in features:
        for language, cell in cells.items():
            if not (TOP / PLACES[language][0][0]).exists():
                skipped.add(language)
                continue
            names = re.findall(r"`([^`]+)`", cell)
            where = f"{feature}, {language}"
            if cell.startswith("–"):
                calls = CALLS.get(feature)
                if language == "C" and calls and re.search(f"turnlock_\\w*{calls}", header):
                    wrong.append(f"{where}: –, but the header has it")
                elif PLACES[language][2] and calls and re.search(calls, sources[language]):
                    wrong.append(f"{where}: –, but its sources call what it takes")
                else:
                    passed += 1
                continue
            if not names:
                wrong.append(f"{where}: the cell names nothing to look for")
            for name in names:
                word = re.split(r"::|\.", name)[-1]
                # The last word: objects may be called otherwise.
                if not re.search(rf"\b{re.escape(word)}\b", sources[language]):
                    wrong.append(f"{where}: {word} is not in its sources")
                elif not word.startswith("turnlock_") and not re.search(rf"\b{re.escape(word)}\b", tests[language]):
                    wrong.append(f"{where}: {word} is not in its tests")
                else:
                    passed += 1
    judged = set()
    for language, column, names in bad_input((HERE / "README.md").read_text()):
        judged.add(language)
        for word in names:
            if word == "free":
                continue
            last = re.escape(re.split(r"::|\.", word)[-1])
            # Codes with a common beginning, which the tests leave out.
            last = last.removeprefix("ERR_TURNLOCK_")
            if re.search(rf"\b{last}\b", tests[language]):
                passed += 1
            else:
                wrong.append(f"bad input, {column}, {language}: {word} is not in its tests")
    if len(judged) < 6:
        wrong.append(f"the table of bad input was not found: it is about {len(judged)} languages")
    if len(features) < 15:
        wrong.append(f"the table was not found: it has {len(features)} rows")
    for language in sorted(skipped):
        print(f"{language}: skipped, its folder is not there")
    for sentence in wrong:
        print(f"wrong: {sentence}")
    print(f"{passed} passed, {len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
