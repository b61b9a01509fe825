"""ONNX's published scatter, gather and condition cases, answered by pyscatter."""

from collections import Counter

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the onnx package is not installed")

import onnx

from tests.peers import onnx_adapter

CASES = onnx_adapter.cases()

# At least so many cases of each operator; TensorScatter came with onnx 1.19.
EXPECTED = {
    "ScatterND": 5,
    "ScatterElements": 6,
    "Scatter": 2,
    "GatherND": 3,
    "GatherElements": 3,
    "Gather": 4,
    "Where": 2,
    "Compress": 4,
    "NonZero": 1,
    "TensorScatter": 3 if onnx.defs.has("TensorScatter") else 0,
}


def test_enough_cases_were_found():
    found = Counter(operator for _, operator, *_ in CASES)
    short = {op: found[op] for op, count in EXPECTED.items() if found[op] < count}
    assert short == {}


@pytest.mark.parametrize(
    ("operator", "attributes", "inputs", "expected"),
    [pytest.param(*case[1:], id=case[0]) for case in CASES],
)
def test_node(operator, attributes, inputs, expected):
    before = [np.array(x) for x in inputs]
    result = onnx_adapter.run(operator, attributes, inputs)
    np.testing.assert_array_equal(result, expected[0], strict=True)
    for was, now in zip(before, inputs, strict=True):
        np.testing.assert_array_equal(now, was, strict=True)
