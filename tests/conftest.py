"""Settings that all tests share: hypothesis profiles, the marker, a clean slate.

PYSCATTER_TESTS chooses how long the property tests search: brief, quick, full or
nightly; the default is full, and quick for the quick run, which is `pytest -m "not
slow"`. Brief is for other builds (sanitizers, other Pythons) of what full has searched:
of tests for each pair of many things (dtypes and layouts, say) it takes a sample in
which each thing occurs, another one for each test.
"""

import hashlib
import os
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The helper modules are imported as tests.cases, from wherever pytest is started; an
# installed pyscatter still comes before the source tree.
sys.path.append(str(Path(__file__).resolve().parent.parent))

import pyscatter  # noqa: E402

CORE = pyscatter._core
CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large]
MARKERS = (
    "slow: left out of the quick run",
    "alone: wants the machine to itself: threads, signals, forks",
)
FEW = 4  # things of which a sample has all: levels, threads, libraries
FIXTURE = "fixture "  # goes before its name
EXAMPLES = {"brief": 20, "quick": 100, "full": 150, "nightly": 20_000}

for name, examples in EXAMPLES.items():
    settings.register_profile(
        name,
        max_examples=examples,
        deadline=None,
        derandomize=name != "nightly",
        suppress_health_check=CHECKS,
        database=None,
    )


def pytest_configure(config):
    """Choose the profile and register the markers."""
    is_quick = "not slow" in (config.option.markexpr or "")
    default = "quick" if is_quick else "full"
    settings.load_profile(os.environ.get("PYSCATTER_TESTS", default))
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


def chosen(item):
    """What each parametrize and each fixture of a test has chosen for it, by names."""
    params = dict(item.callspec.params) if hasattr(item, "callspec") else {}
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0] if mark.args else mark.kwargs["argnames"]
        names = names.split(",") if isinstance(names, str) else names
        yield str(names), tuple(id(params.pop(name.strip())) for name in names)
    for name, thing in params.items():
        yield FIXTURE + name, id(thing)


def sample(items):
    """Return those of one test function that are enough to meet each thing.

    Where there are few things of a kind, or a fixture gives them, they meet all others.
    """
    choices = {item.nodeid: dict(chosen(item)) for item in items}
    kinds = defaultdict(set)
    for choice in choices.values():
        for kind, thing in choice.items():
            kinds[kind].add(thing)
    many = {kind for kind in kinds if len(kinds[kind]) > FEW and FIXTURE not in kind}
    if len(many) < 2:
        return items
    met, kept = set(), []
    for name in sorted(choices, key=lambda x: hashlib.sha256(x.encode()).digest()):
        choice = choices[name]
        beside = tuple(choice[kind] for kind in sorted(choice.keys() - many))
        new = {(beside, kind, choice[kind]) for kind in many} - met
        if new:
            kept.append(name)
            met |= new
    return [item for item in items if item.nodeid in kept]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Of what the options leave, take the samples of a brief run."""
    if settings.get_current_profile_name() != "brief":
        return
    functions = defaultdict(list)
    for item in items:
        functions[item.nodeid.partition("[")[0]].append(item)
    kept = {id(item) for own in functions.values() for item in sample(own)}
    config.hook.pytest_deselected(items=[x for x in items if id(x) not in kept])
    items[:] = [item for item in items if id(item) in kept]


@pytest.fixture(autouse=True)
def clean_slate():
    """Give every test, and the one after it, the library's own choices."""
    level = CORE.force_level(CORE.levels()[-1])
    CORE.force_level(level)
    threads = pyscatter.get_num_threads()
    CORE.force_threads(True)  # also beside busy neighbours
    yield
    CORE.force_algorithm(None)
    CORE.force_level(level)
    pyscatter.set_num_threads(threads)
