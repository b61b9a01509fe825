"""Memory that runs out, and memory that must not be kept.

Every allocation of every kind of call is refused in turn, by a preloaded shim: the call
ends in MemoryError with its target untouched, or in the right answer. And no call,
neither one that returns nor one that raises, keeps a block or a reference. And no call
looks beyond its arrays, or at what its mask leaves out.
"""

import pytest

from tests.isolated import leak_cases, memory_cases, page_cases
from tests.isolated.children import (
    listing,
    run_cases,
    run_forked,
    run_script,
    sanitized,
)
from tests.isolated.shim import build

# Groups whose calls are few and quick enough for the quick run.
QUICK = {"small", "address space", "address space of masks", "failures"}


def marked(groups):
    """Groups as parameters, the long ones marked."""
    return [
        pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow)
        for name in groups
    ]


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    """The compiled shim, as the variable that preloads it."""
    if sanitized():
        pytest.skip("the sanitizer already stands in for the allocator")
    library = build(tmp_path_factory.mktemp("shim"))
    if library is None:
        pytest.skip("needs a C compiler and glibc to refuse allocations")
    return {"LD_PRELOAD": str(library)}


@pytest.mark.parametrize("group", marked(memory_cases.GROUPS))
def test_refused_allocations(shim, group):
    variables = {**shim, "PYTHONMALLOC": "malloc"}
    ended, complaints = run_cases(
        "memory_cases", group, run=run_forked, seconds=300, **variables
    )
    assert not complaints, listing(complaints)
    assert ended > 0


@pytest.mark.slow
def test_refused_while_loading(shim):
    child = run_script("import_cases", **shim, PYTHONMALLOC="malloc")
    assert not child.death
    (report,) = child.reports
    assert not report["complaints"], listing(report["complaints"]) + child.err
    assert report["tried"] > 10


@pytest.mark.parametrize("group", marked(leak_cases.GROUPS))
def test_nothing_stays(shim, group):
    ended, complaints = run_cases(
        "leak_cases", group, run=run_forked, seconds=300, **shim
    )
    assert not complaints, listing(complaints)
    assert ended > 0


@pytest.mark.parametrize("group", page_cases.GROUPS)
def test_forbidden_pages(group):
    ended, complaints = run_cases("page_cases", group, run=run_forked, seconds=100)
    assert not complaints, listing(complaints)
    assert ended > 0
