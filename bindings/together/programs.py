"""The programs of each language, for a mutex and for the other kinds: how they are built and started, and what they call
themselves."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
CONTEND = Path(__file__).resolve().parent / "contend"


class Missing(Exception):
    """A language is not here: what is missing."""


@dataclass
class Program:
    language: str
    # What it writes into the journal.
    label: str
    command: list
    environment: dict = field(default_factory=dict)
    # A shell starts a process for each turn, and has fewer of them; and its death is that of the command that it runs.
    is_shell: bool = False

    def turns(self, turns):
        return max(turns // 8, 4) if self.is_shell else turns


def need(command, package):
    found = shutil.which(command)
    if not found:
        raise Missing(f"there is no {command} (Debian: apt-get install {package})")
    return found


def build(*command, cwd=None, env=None):
    subprocess.run(
        [str(word) for word in command], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd,
        env={**os.environ, **(env or {})}, timeout=300,
    )


def programs(built, prefix, work):
    """Each language with a function that builds its program. `built` is where cargo's programs are, `prefix` where turnlock
    is installed, and `work.parent` where the checks of the bindings have worked."""
    include, library = prefix / "include", prefix / "lib"
    link = ["-L", library, "-lturnlock", f"-Wl,-rpath,{library}"]
    runs = {"TURNLOCK_LIBRARY": str(library / "libturnlock.so"), "LD_LIBRARY_PATH": str(library)}
    checks = work.parent

    def c():
        need("cc", "gcc")
        build("cc", "-std=c99", "-O2", "-I", include, "-o", work / "counter-c", REPOSITORY / "examples/counter.c", *link)
        return Program("C", "counter.c", [work / "counter-c"])

    def cpp():
        need("c++", "g++")
        source = REPOSITORY / "bindings/cpp/examples/counter.cpp"
        build("c++", "-std=c++17", "-O1", "-I", include, "-o", work / "counter-cpp", source, *link)
        return Program("C++", "counter.cpp (turnlock.hpp)", [work / "counter-cpp"])

    def rust():
        program = built / "examples/counter"
        if not program.exists():
            raise Missing(f"{program.name} is not built (cargo build --example counter)")
        return Program("Rust", "counter.rs", [program])

    def python():
        return Program("Python", "counter.py", [sys.executable, REPOSITORY / "examples/counter.py"], runs)

    def shell():
        return Program("shell", "counter.sh", ["sh", REPOSITORY / "examples/counter.sh"], {
            "PATH": f"{prefix / 'bin'}:{os.environ['PATH']}", **runs}, is_shell=True)

    def node():
        need("node", "nodejs")
        package = checks / "node/bindings/node"
        if not (package / "node_modules/koffi").exists():
            raise Missing("its packages are not installed (bindings/node/check installs them)")
        return Program("Node", "counter.js", ["node", package / "examples/counter.js"], runs)

    def go():
        need("go", "golang-go")
        need("pkg-config", "pkg-config")
        environment = {"PKG_CONFIG_PATH": str(library / "pkgconfig"), "GOFLAGS": "-mod=mod", "GOPROXY": "off"}
        build("go", "build", "-o", work / "counter-go", "./examples/counter", cwd=REPOSITORY / "bindings/go", env=environment)
        return Program("Go", "counter.go", [work / "counter-go"], runs)

    def java():
        need("java", "default-jre-headless")
        classes = checks / "java/classes"
        if not classes.exists():
            raise Missing("it is not built (bindings/java/check builds it)")
        return Program("Java", "Counter.java", ["java", "-Xshare:auto", "-cp", classes.read_text().strip(), "Counter"], runs)

    return [
        ("C", c), ("C++", cpp), ("Rust", rust), ("Python", python), ("shell", shell), ("Node", node), ("Go", go), ("Java", java),
    ]


def contenders(built, prefix, work):
    """The same for the programs of contend/, which are started with the kind of lock first."""
    include, library = prefix / "include", prefix / "lib"
    link = ["-L", library, "-lturnlock", f"-Wl,-rpath,{library}"]
    runs = {"TURNLOCK_LIBRARY": str(library / "libturnlock.so"), "LD_LIBRARY_PATH": str(library)}
    checks = work.parent

    def c():
        need("cc", "gcc")
        build("cc", "-std=c99", "-O2", "-I", include, "-o", work / "contend-c", CONTEND / "contend.c", *link)
        return Program("C", "contend.c", [work / "contend-c"])

    def cpp():
        need("c++", "g++")
        binding = REPOSITORY / "bindings/cpp"
        build("c++", "-std=c++17", "-O1", "-I", binding, "-I", include, "-o", work / "contend-cpp", CONTEND / "contend.cpp", *link)
        return Program("C++", "contend.cpp", [work / "contend-cpp"])

    def python():
        return Program("Python", "contend.py", [sys.executable, CONTEND / "contend.py"], runs)

    def node():
        need("node", "nodejs")
        packages = checks / "node/bindings/node/node_modules"
        if not (packages / "turnlock").exists():
            raise Missing("its packages are not installed (bindings/node/check installs them)")
        return Program("Node", "contend.js", ["node", CONTEND / "contend.js"], {**runs, "NODE_PATH": str(packages)})

    def go():
        need("go", "golang-go")
        need("pkg-config", "pkg-config")
        environment = {"PKG_CONFIG_PATH": str(library / "pkgconfig"), "GOFLAGS": "-mod=mod", "GOPROXY": "off"}
        # By a file's name, so that this module's packages are found.
        source = CONTEND / "contend.go"
        build("go", "build", "-o", work / "contend-go", source, cwd=REPOSITORY / "bindings/go", env=environment)
        return Program("Go", "contend.go", [work / "contend-go"], runs)

    def java():
        need("javac", "default-jdk-headless")
        classes = checks / "java/classes"
        if not classes.exists():
            raise Missing("it is not built (bindings/java/check builds it)")
        path = classes.read_text().strip()
        build("javac", "-cp", path, "-d", work / "contend-java", CONTEND / "Contend.java")
        command = ["java", "-Xshare:auto", "-cp", f"{work / 'contend-java'}:{path}", "Contend"]
        return Program("Java", "Contend.java", command, runs)

    def rust():
        need("rustc", "rustc")
        crate = built / "libturnlock.rlib"
        if not crate.exists():
            raise Missing(f"{crate.name} is not built (cargo build --lib)")
        build("rustc", "--edition", "2024", "-O", "-o", work / "contend-rs", CONTEND / "contend.rs", "--extern",
              f"turnlock={crate}", "-L", f"dependency={built / 'deps'}")
        return Program("Rust", "contend.rs", [work / "contend-rs"])

    def shell():
        return Program("shell", "contend.sh", ["sh", CONTEND / "contend.sh"], {
            "PATH": f"{prefix / 'bin'}:{os.environ['PATH']}", **runs}, is_shell=True)

    return [
        ("C", c), ("C++", cpp), ("Rust", rust), ("Python", python), ("shell", shell), ("Node", node), ("Go", go), ("Java", java),
    ]
