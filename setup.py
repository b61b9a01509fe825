"""The one extension module: its sources, headers and flags. Metadata: pyproject.toml.

Sources are compiled in parallel, since the kernel files dominate the build.
PYSCATTER_CFLAGS adds flags (sanitizers, coverage); PYSCATTER_WERROR=1 is the
developers' build, in which every warning is an error.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from glob import glob

import numpy as np
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

# Contraction to FMA would make results depend on the CPU level.
FLAGS = [
    "-std=c11",
    "-O3",
    "-g1",
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


class ParallelBuild(build_ext):
    """build_ext that compiles the sources of the extension side by side."""

    def build_extensions(self):
        self.compiler.compile = self.compile_parallel(self.compiler.compile)
        super().build_extensions()

    @staticmethod
    def compile_parallel(compile_one):
        def compile_all(sources, **options):
            with ThreadPoolExecutor(os.cpu_count()) as workers:
                objects = workers.map(lambda s: compile_one([s], **options), sources)
                return [obj for group in objects for obj in group]

        return compile_all


def extra_flags():
    warnings = WARNINGS if os.environ.get("PYSCATTER_WERROR") else []
    return FLAGS + warnings + os.environ.get("PYSCATTER_CFLAGS", "").split()


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
            extra_compile_args=extra_flags(),
            extra_link_args=[
                "-pthread",
                *os.environ.get("PYSCATTER_LDFLAGS", "").split(),
            ],
        )
    ],
    cmdclass={"build_ext": ParallelBuild},
)
