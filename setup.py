"""The one extension module: its sources, headers and flags. Metadata: pyproject.toml.

Sources are compiled in parallel, since the kernel files dominate the build, and only
when something that they are made from has changed. What is built in place, or with
--debug, has symbols and line numbers; wheels are stripped. PYSCATTER_CFLAGS adds flags
(sanitizers, coverage); PYSCATTER_WERROR=1 is the developers' build, in which every
warning is an error.
"""

import hashlib
import os
import shlex
import subprocess
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from glob import glob
from pathlib import Path

import numpy as np
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

# Contraction to FMA would make results depend on the CPU level.
FLAGS = [
    "-std=c11",
    "-O3",
    "-DNDEBUG",
    "-fPIC",
    "-fwrapv",  # as CPython is compiled
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fvisibility=hidden",
    "-pthread",
]
WARNINGS = [
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Wsign-conversion",
    "-Wshadow",
    "-Wno-type-limits",  # templates compare for unsigned and signed types alike
    "-Werror",
]


class Build(build_ext):
    """build_ext that compiles side by side, and only what has changed.

    The folder of an object is named after the compiler and all flags; beside the object
    lies the compiler's list of the files that it was made from. Only csrc/python is
    compiled as Python says, so builds for several Pythons share all other objects.
    """

    def finalize_options(self):
        """Always link; the objects say what is out of date, unless --force does."""
        super().finalize_options()
        self.afresh, self.force = self.force, True

    def run(self):
        """Keep symbols where developers look at them, unless flags say how many."""
        for extension in self.extensions:
            if not (self.inplace or self.debug):
                extension.extra_link_args.append("-Wl,--strip-all")
            elif not any(flag.startswith("-g") for flag in words("PYSCATTER_CFLAGS")):
                extension.extra_compile_args.append("-g1")
        super().run()

    def build_extensions(self):
        """Compile by `compile_all`."""
        self.compiler.compile = self.compile_all
        super().build_extensions()

    def compile_all(self, sources, *, macros, include_dirs, extra_postargs, **_):
        """Stand in for the compiler's own `compile`."""
        cc = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC"))
        own = [flag for name in ("CFLAGS", "CPPFLAGS") for flag in words(name)]
        plain = [*cc, *own, *extra_postargs, "-Icsrc"]
        paths = [f"-I{path}" for path in (*include_dirs, *self.compiler.include_dirs)]
        defined = [f"-D{name}={value}" for name, value in macros]
        python = [*self.compiler.compiler_so, *extra_postargs, *paths, *defined]
        version = subprocess.check_output([*cc, "--version"])
        base = self.get_finalized_command("build").build_base

        def compile_one(source):
            command = python if "python" in Path(source).parts else plain
            digest = hashlib.sha256(version + "\0".join(command).encode()).hexdigest()
            made = Path(base, f"temp.{digest[:16]}", source).with_suffix(".o")
            if self.afresh or not is_current(made):
                made.parent.mkdir(parents=True, exist_ok=True)
                part = made.with_suffix(".part")  # an interrupted one is not taken
                self.spawn([*command, "-MMD", "-c", source, "-o", str(part)])
                part.replace(made)
            return str(made)

        # Kernels take longest: begun first, so that no core waits for one at the end.
        in_order = sorted(sources, key=lambda source: "kernels" not in source)
        with ThreadPoolExecutor(os.cpu_count()) as workers:
            return list(workers.map(compile_one, in_order))


def is_current(made):
    """Whether an object exists and is newer than each file that it was made from."""
    try:
        _, _, names = made.with_suffix(".d").read_text().partition(":")
        files = names.replace("\\\n", " ").split()
        return made.stat().st_mtime_ns > max(os.stat(f).st_mtime_ns for f in files)
    except OSError:
        return False


def words(variable):
    """The flags in a variable of the environment."""
    return shlex.split(os.environ.get(variable, ""))


setup(
    ext_modules=[
        Extension(
            "pyscatter._core",
            sources=sorted(glob("csrc/*/*.c")),
            depends=sorted(glob("csrc/*/*.h")),
            include_dirs=["csrc", np.get_include()],
            define_macros=[
                ("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"),
                ("NPY_TARGET_VERSION", "NPY_2_0_API_VERSION"),
            ],
            extra_compile_args=[
                *FLAGS,
                *(WARNINGS if os.environ.get("PYSCATTER_WERROR") else []),
                *words("PYSCATTER_CFLAGS"),
            ],
            extra_link_args=["-pthread", *words("PYSCATTER_LDFLAGS")],
        )
    ],
    cmdclass={"build_ext": Build},
)
