"""Pages about packages: their blocks of `py` run, in order, where the package is."""

import pathlib
import re

import pytest

from tests.compat.peers import peer

PAGES = pathlib.Path(__file__).resolve().parents[2] / "docs"
NEEDS = {
    "in-torch": ("torch",),
    "in-tensorflow": ("tensorflow",),
    "in-keras": ("keras", "tensorflow"),
    "in-jax": ("jax",),
    "in-tensorboard": ("tensorboardX",),
    "in-dask": ("dask", "dask.array"),
    "in-autograd": ("autograd",),
}
FENCE = re.compile(r"^```py\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(p.stem for p in PAGES.glob("in-*.md")))
def test_blocks_run(name):
    for package in NEEDS.get(name, ()):
        peer(package)
    names = {"__name__": "__page__"}
    for block in FENCE.findall((PAGES / f"{name}.md").read_text(encoding="utf-8")):
        exec(compile(block, name, "exec"), names)
