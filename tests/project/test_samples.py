"""Samples of brief runs: no thing of a kind is left out."""

from itertools import product
from types import SimpleNamespace

from tests.conftest import sample

OPS, WAYS, LIBRARIES, LEVELS = range(9), range(20, 26), range(30, 36), range(40, 42)
MARKS = [SimpleNamespace(args=(names,), kwargs={}) for names in ("op", "way", "level")]


def item(op, way, library, level):
    """Return a test of three parametrizes and a fixture."""
    params = {"op": op, "way": way, "library": library, "level": level}
    return SimpleNamespace(
        nodeid=f"test[{params}]",
        params=params,
        callspec=SimpleNamespace(params=params),
        iter_markers=lambda name: MARKS,
    )


def test_each_thing_meets_what_there_is_little_of_and_what_fixtures_give():
    items = [item(*things) for things in product(OPS, WAYS, LIBRARIES, LEVELS)]
    kept = sample(items)
    assert len(kept) < len(items) / 3
    for kind, things in (("op", OPS), ("way", WAYS)):
        met = {(x.params[kind], x.params["library"], x.params["level"]) for x in kept}
        assert met == set(product(things, LIBRARIES, LEVELS))
