"""Builds that share kernels of levels leave out none whose source is its level's own.

Sanitizers see the source of a shared kernel at a lower level: what the unit includes
must not ask for what that level does not have.
"""

import pathlib
import re

import pytest

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "csrc" / "kernels"
SHARING = [
    unit.stem.split("_", 2)[1:]
    for unit in sorted(KERNELS.glob("isa_*.c"))
    if "PS_SHARED_KERNELS" in unit.read_text()
]
DOORS = {"avx2.h", "avx512.h"}  # these say what their level has
A_NUMBER = {("sparse", "instances_sparse.h")}  # of registers, from AVX-512


def included(name, found):
    """The files of kernels that one includes, and those that these include."""
    if name not in found and (KERNELS / name).exists():
        found[name] = (KERNELS / name).read_text()
        for further in re.findall(r'"kernels/([\w.]+\.h)"', found[name]):
            included(further, found)
    return found


@pytest.mark.parametrize("level, stem", SHARING)
def test_the_source_asks_for_nothing_of_its_level(level, stem):
    is_at_baseline = level == "avx2" or ["avx2", stem] in SHARING
    own = r"ISA_HAS_\w+" if is_at_baseline else r"ISA_HAS_AVX512"
    files = included(f"isa_{level}_{stem}.c", {})
    asking = {name for name, text in files.items() if re.search(own, text)} - DOORS
    assert {(stem, name) for name in asking} <= A_NUMBER


def test_units_are_found():
    assert {level for level, _ in SHARING} == {"avx2", "avx512"}
