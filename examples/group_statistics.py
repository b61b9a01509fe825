"""Statistics by group with segment_reduce: python examples/group_statistics.py

The data are the lines of modules of the standard library, grouped by module: ragged
groups of very different sizes, one of them empty.
"""

import inspect
import json
import pathlib
import re

import numpy as np

import pyscatter as ps

MODULES = (inspect, json, pathlib, re)


def main():
    """Compute one table in one call, and compare it with NumPy group by group."""
    lines = [inspect.getsource(module).splitlines() for module in MODULES]
    lines.insert(2, [])  # a module without lines
    lengths = np.array([len(line) for module in lines for line in module])
    offsets = np.concatenate([[0], np.cumsum([len(module) for module in lines])])

    ops = ("count", "mean", "std", "median", "max")
    table = ps.segment_reduce(lengths, offsets=offsets, op=ops)
    longest = ps.segment_reduce(lengths, offsets=offsets, op="argmax")

    for i, (first, last) in enumerate(zip(offsets, offsets[1:], strict=False)):
        group = lengths[first:last]
        if len(group) == 0:
            assert table[0][i] == 0 and np.isnan(table[1][i]) and longest[i] == -1
            continue
        assert table[0][i] == len(group) and table[4][i] == group.max()
        assert np.isclose(table[1][i], group.mean())
        assert np.isclose(table[2][i], group.std())
        assert table[3][i] == np.median(group)
        assert longest[i] == first + group.argmax()

    print("lines   mean    std  median    max")
    for count, mean, std, median, most in zip(*table, strict=True):
        print(f"{count:5d}{mean:7.1f}{std:7.1f}{median:8.1f}{most:7d}")


if __name__ == "__main__":
    main()
