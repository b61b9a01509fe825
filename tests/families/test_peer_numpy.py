"""NumPy's own tests of ufunc.at, reduceat, take, indexing, masks and bincount.

Pyscatter answers them, once, in a child process, through tests/peers/numpy_adapter.py.
Every test that really reached it counts; those that must differ on purpose are listed
below with the reason, and are checked to differ still.
"""

import numpy as np
import pytest

from tests.peers import numpy_adapter, suites

# Tests that must reach pyscatter, and calls by name: a little below what NumPy has.
MIN_TESTS = 880
MIN_CALLS = {
    "take": 3000,
    "put": 300,
    "take_along_axis": 15,
    "put_along_axis": 4,
    "getitem": 400,
    "setitem": 400,
    "add": 55,
    "subtract": 30,
    "multiply": 15,
    "divide": 15,
    "floor_divide": 15,
    "maximum": 30,
    "minimum": 30,
    "fmax": 15,
    "fmin": 15,
    "where": 140,
    "nonzero": 140,
    "argwhere": 12,
    "count_nonzero": 16_000,
    "compress": 25,
    "putmask": 90,
    "place": 2,
    "copyto": 4000,
    "reduceat": 25,
    "bincount": 35,
}

# Test (a regular expression) and why pyscatter answers otherwise.
LOOPS = r"test_ufunc::TestUfunc::test_ufunc_at_inner_loops"
INDEXING = "test_indexing::Test"
CASTS = "test_casting_floatingpoint_errors::test_floatingpoint_errors_casting"
DEVIATIONS = {
    r"test_ufunc::TestUfunc::test_at_negative_indexes\[divide-[bBhHiIlLqQnNpP]\]": (
        "divide_at on integers is a TypeError that names floor_divide"
    ),
    LOOPS + r"\[(add|subtract)-e\]": (
        "float16 is summed in float32 and rounded once, not after every addition"
    ),
    LOOPS + r"\[(multiply-e|floor_divide-[efd])\]": (
        "float arithmetic sets no warnings: not for x // 0.0, not for an overflow"
    ),
    "test_umath::TestSpecialMethods::test_ufunc_override_with_super": (
        "the drop-ins are functions, not ufuncs: they do not ask __array_ufunc__"
    ),
    "test_shape_base::TestTakeAlongAxis::test_invalid": (
        "bool and float indices are a TypeError, where NumPy says IndexError"
    ),
    "test_regression::TestRegression::test_attributes": "results are base-class arrays",
    INDEXING + "Indexing::test_memory_order": "results are C-ordered",
    "test_multiarray::TestMethods::test_put": (
        "an empty target is reported as any other index that is out of bounds"
    ),
    INDEXING + r"BroadcastedAssignments::test_broadcast_error_reports_\w+\[index\d\]": (
        "the message of the ValueError goes on after the shape"
    ),
    "test_multiarray::TestWhere::test_exotic": (
        "a number that is not chosen is not converted, so that it gives no warning"
    ),
    "test_function_base::TestBincount::test_with_incorrect_minlength": (
        "the message of the TypeError names minlength"
    ),
    r"test_ufunc::test_ufunc_methods_floaterrors\[reduceat\]": (
        "float arithmetic sets no warnings: not for a sum that is no number"
    ),
    "test_mem_overlap::TestUFunc::test_binary_ufunc_reduceat_fuzz": (
        "a target of which two elements share memory is a ValueError"
    ),
    INDEXING + r"Indexing::test_too_many_advanced_indices\[64-64-index2\]": (
        "64 index arrays are answered, where NumPy stops at 63"
    ),
}
# Tests that not every NumPy has: which ones do, tests, and why.
NUMPY = tuple(map(int, np.__version__.split(".")[:2]))
for applies, deviations in (
    (
        NUMPY < (2, 1),
        {
            "test_numeric::TestNonzero::test_nonzero_zerod": (
                "arrays without axes are a ValueError, as in newer NumPy"
            ),
        },
    ),
    (
        NUMPY >= (2, 1),
        {
            "test_shape_base::TestPutAlongAxis::test_invalid": (
                "the message of the ValueError counts dimensions in other words"
            ),
        },
    ),
    (
        NUMPY >= (2, 5),
        {
            "test_multiarray::TestTake::test_wrap": (
                "an axis of length 0 has no element, also where rows are empty"
            ),
            "test_ufunc::TestUfunc::"
            "test_reduceat_and_accumulate_out_dtype_resolution_failure": (
                "a result goes into any out= to which its dtype casts, strings included"
            ),
        },
    ),
):
    DEVIATIONS.update(deviations if applies else {})


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    place = tmp_path_factory.mktemp("peer")
    return suites.run("numpy_adapter", numpy_adapter.FILES, place, "-m", "not slow")


def test_enough_tests_reach_pyscatter(report):
    suites.assert_enough(report, MIN_TESTS, MIN_CALLS)


def test_the_others_pass(report):
    suites.assert_others_pass(report, DEVIATIONS)


@pytest.mark.parametrize("pattern", DEVIATIONS)
def test_deviation_is_one(report, pattern):
    suites.assert_differs(report, pattern)
