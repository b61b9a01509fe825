"""Settings that all tests share: hypothesis profiles, the marker, a clean slate.

PYSCATTER_TESTS chooses how long the property tests search: brief, quick, full or
nightly; the default is full, and quick for the quick run, which is `pytest -m "not
slow"`. Brief is for other builds (sanitizers, other Pythons) of what full has searched.
"""

import os
import sys
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
EXAMPLES = {"brief": 30, "quick": 100, "full": 300, "nightly": 20_000}

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
