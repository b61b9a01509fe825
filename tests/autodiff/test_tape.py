"""Tapes: both directions agree, second derivatives are those of differences."""

import threading

import numpy as np
import pytest

import pyscatter as ps
from pyscatter.autodiff.calls import run
from pyscatter.autodiff.rules import RULES
from pyscatter.autodiff.wheres import Packed
from tests.cases import rng_for

RNG = rng_for("tape")
A, X = RNG.standard_normal((4, 3)), RNG.standard_normal((6, 3))
IDS = np.array([0, 2, 2, 0, 1, 2])
MATRIX = ps.COO(
    (RNG.standard_normal(7), ([0, 0, 1, 4, 4, 3, 0], [1, 1, 0, 3, 2, 2, 1])), (5, 4)
)
SQUARE = {
    "vjp": lambda g, out, x: g * 2 * x,
    "jvp": lambda tangents, out, x: 2 * x * tangents[0],
}
FLAT = {
    "vjp": lambda g, out, x: g.reshape(x.shape),
    "jvp": lambda tangents, out, x: tangents[0].reshape(-1),
}


def energy(tape, y):
    """Add up squares, so that second derivatives are not all zero."""
    flat = tape.apply(np.ravel, tape.apply(np.square, y, **SQUARE), **FLAT)
    return tape.apply(ps.segment_sum, flat, offsets=[0, y.value.size])


def numbers(x):
    return np.asarray(x.data if hasattr(x, "format") else x)


def built(make, primals):
    tape = ps.Tape()
    return tape, energy(tape, make(tape, *(tape.variable(x) for x in primals)))


def moved(x, by):
    return x._with_data(x.data + by) if hasattr(x, "format") else x + by


def check_second_order(make, *primals):
    """Compare hvp with differences of gradients, and forward with reverse."""
    directions = [RNG.standard_normal(numbers(x).shape) for x in primals]
    tape, node = built(make, primals)
    gradients = tape.reverse(node)
    slope = sum(
        (numbers(g) * d).sum() for g, d in zip(gradients, directions, strict=True)
    )
    assert tape.forward(node, *directions) == pytest.approx(slope, rel=1e-10)
    h, ends = 1e-5, []
    for sign in (1, -1):
        pairs = zip(primals, directions, strict=True)
        other, last = built(make, [moved(x, sign * h * d) for x, d in pairs])
        ends.append(other.reverse(last))
    for got, up, down in zip(tape.hvp(node, *directions), *ends, strict=True):
        expected = (numbers(up) - numbers(down)) / (2 * h)
        assert np.allclose(numbers(got), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("op", "set add sub mul div min max mean".split())
def test_scatters(op):
    check_second_order(
        lambda tape, a, v: tape.apply(ps.scatter, a, [0, 3, 3], v, op=op), A, X[:3]
    )


@pytest.mark.parametrize("op", "add mul min mean var std logsumexp median".split())
def test_segments(op):
    def reduced(tape, x):
        rows = {"gather": [0, 1, 2, 3, 4, 0]} if op == "add" else {}
        return tape.apply(ps.segment_reduce, x, IDS, 3, op=op, **rows)

    check_second_order(reduced, X)


def test_products_with_zeros():
    x = np.array([[0.0], [2.0], [0.0], [3.0]])
    tape = ps.Tape()
    v = tape.variable(x)
    node = tape.apply(ps.segment_reduce, v, [0] * 4, op="mul", axis=0)
    node = tape.apply(np.ravel, node, **FLAT)
    (got,) = tape.hvp(node, np.array([[1.0], [0.0], [0.0], [0.0]]))
    assert got.ravel().tolist() == [0, 0, 6, 0]


def test_names_of_segments():
    for make in (
        lambda tape, x: tape.apply(ps.segment_softmax, x, IDS),
        lambda tape, x: tape.apply(ps.segment_log_softmax, x, IDS),
        lambda tape, x: tape.apply(ps.segment_prod, x, ids=IDS),
        lambda tape, x: tape.apply(ps.segment_scan, x, IDS, op="mul"),
    ):
        check_second_order(make, X)


def test_sparse_products():
    rows = RNG.standard_normal((5, 3))
    for A_ in (MATRIX, MATRIX.to_csr()):
        check_second_order(lambda tape, m, x: tape.apply(ps.spmm, m, x), A_, A)
    mean = {"op": "mean", "fill_value": 0}
    check_second_order(lambda tape, m, x: tape.apply(ps.spmm, m, x, **mean), MATRIX, A)
    check_second_order(
        lambda tape, m, x, y: tape.apply(ps.sddmm, m, x, y, values="scale"),
        *(MATRIX, rows, A),
    )


def test_a_node_that_is_used_twice_adds_up():
    tape = ps.Tape()
    x = tape.variable(A)
    one = tape.apply(ps.gather, x, [0, 1])
    two = tape.apply(ps.gather, x, [1, 1])
    both = tape.apply(ps.where, [[True], [False]], one, two)
    node = energy(tape, both)
    first = tape.reverse(node)
    assert np.array_equal(tape.reverse(node)[0], first[0])  # it may be asked again
    expected = np.zeros((4, 3))
    expected[:2] = 2 * A[:2]
    assert np.allclose(first[0], expected)


def test_buffers():
    tape = ps.Tape()
    x, y = tape.variable(A), tape.variable(X)
    node = energy(tape, tape.apply(ps.scatter, x, [0, 1], y.value[:2], op="add"))
    buffer = np.ones((4, 3))
    (gradient, none) = tape.reverse(node, into=(buffer, None))
    assert gradient is buffer and none is None
    assert np.allclose(buffer - 1, tape.reverse(node)[0])
    with pytest.raises(ValueError, match="no gradient"):
        tape.reverse(node, into=(None, np.zeros((6, 3))))


def test_functions_without_a_rule_are_refused():
    tape = ps.Tape()
    x = tape.variable(A)
    with pytest.raises(TypeError, match="no operation of pyscatter"):
        tape.apply(np.sin, x)
    node = tape.apply(np.square, x, vjp=SQUARE["vjp"])
    with pytest.raises(TypeError, match="no jvp="):
        tape.forward(node, A)
    node = tape.apply(np.square, x, jvp=SQUARE["jvp"])
    with pytest.raises(TypeError, match="no vjp="):
        tape.reverse(node, A)
    bad = tape.apply(np.square, x, vjp=lambda g, out, x: g[:1])
    with pytest.raises(ValueError, match=r"returned shape \(1, 3\)"):
        tape.reverse(bad, A)
    bad = tape.apply(np.square, x, vjp=lambda g, out, x: (g, g))
    with pytest.raises(ValueError, match="2 gradients for 1"):
        tape.reverse(bad, A)
    with pytest.raises(TypeError, match="cannot be a node"):
        tape.apply(ps.gather, A, x)
    with pytest.raises(TypeError, match="dtype int64"):
        tape.variable(np.arange(3))


def test_nodes_of_other_tapes_are_refused():
    one, two = ps.Tape(), ps.Tape()
    x, y = one.variable(A), two.variable(A)
    with pytest.raises(ValueError, match="another tape"):
        one.apply(ps.where, True, x, y)
    with pytest.raises(ValueError, match="another tape"):
        one.reverse(y, A)
    with pytest.raises(ValueError, match="scalar"):
        one.reverse(x)
    with pytest.raises(ValueError, match="1 variables"):
        one.forward(x, A, A)
    assert one.forward(x, None).tolist() == np.zeros((4, 3)).tolist()


def test_tapes_serve_several_threads():
    tape = ps.Tape()
    x = tape.variable(X)
    results = {}

    def work(i):
        node = energy(tape, tape.apply(ps.segment_mean, x, IDS))
        results[i] = tape.reverse(node)[0]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(results[0], other) for other in results.values())


def test_forward_asks_only_what_leads_to_the_node():
    tape = ps.Tape()
    x = tape.variable(np.array([1.0, 2.0]))
    tape.apply(np.sin, x, vjp=lambda g, out, x: g * np.cos(x))
    rows = tape.apply(ps.gather, x, [1, 1])
    assert tape.forward(rows, np.array([3.0, 4.0])).tolist() == [4.0, 4.0]
    total = tape.apply(ps.segment_prod, rows, [0, 0])
    assert tape.hvp(total, np.array([0.0, 1.0]))[0].tolist() == [0.0, 2.0]


def test_a_tangent_of_another_shape():
    tape = ps.Tape()
    x = tape.variable(np.ones(2))
    node = tape.apply(np.sum, x, jvp=lambda tangents, out, x: np.ones(7))
    with pytest.raises(ValueError, match=r"jvp of sum returned shape \(7,\)"):
        tape.forward(node, np.ones(2))


@pytest.mark.parametrize("ties", ["even", "first"])
@pytest.mark.parametrize(
    "kind", [{"op": "min", "alpha": 2.0}, {"semiring": "max_times"}]
)
def test_least_and_greatest_products(kind, ties):
    options = {"fill_value": 0, "ties": ties, **kind}
    check_second_order(
        lambda tape, m, x: tape.apply(ps.spmm, m, x, **options), MATRIX, A
    )
    check_second_order(
        lambda tape, x, m: tape.apply(ps.spmm, x, m, **options),
        X[:, :2].T[:, :5],
        MATRIX,
    )
    sums = {"semiring": "min_plus", "fill_value": 0}
    check_second_order(lambda tape, m, x: tape.apply(ps.spmm, m, x, **sums), MATRIX, A)


ROOT = {"fill_value": 0.0, "derivative": lambda v: 0.5 / np.sqrt(v)}


def test_functions_of_what_is_selected():
    check_second_order(
        lambda tape, x: tape.apply(ps.apply_where, A > 0, x, np.sqrt, **ROOT), A
    )
    sines = {"fill_value": 1.0, "derivative": np.cos}
    check_second_order(
        lambda tape, x: tape.apply(ps.apply_where, A > 0, x, np.sin, **sines), A[0]
    )


@pytest.mark.parametrize("x", [1e-8, 1e-4, 1.0, 1e6])
def test_a_second_derivative_near_the_end_of_a_domain(x):
    tape = ps.Tape()
    v = tape.variable(np.array([x, -x]))
    node = tape.apply(ps.apply_where, [True, False], v, np.sqrt, **ROOT)
    (got,) = tape.hvp(tape.apply(ps.gather, node, [0]), np.array([2.0, 3.0]))
    assert got[0] == pytest.approx(-0.5 * x**-1.5, rel=1e-5) and got[1] == 0


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("x", [1e-12, 1e-3, 1e3, 1e12])
def test_second_derivatives_of_small_and_large_numbers(x, dtype):
    tape, x = ps.Tape(), np.array([x], dtype)
    inverse = {"fill_value": 0.0, "derivative": lambda v: -1 / (v * v)}
    node = tape.apply(
        ps.apply_where, True, tape.variable(x), lambda v: 1 / v, **inverse
    )
    (got,) = tape.hvp(node, np.ones(1, dtype))
    with np.errstate(over="ignore", under="ignore"):
        expected = (2 / x.astype("f8") ** 3).astype(dtype)
    np.testing.assert_allclose(got, expected, rtol=1e-6, strict=True)


def test_a_second_derivative_along_a_long_tangent_of_halves():
    tape = ps.Tape()
    x = tape.variable(np.array([0.0], "f2"))
    square = {"fill_value": 0.0, "derivative": lambda v: 2 * v}
    node = tape.apply(ps.apply_where, True, x, np.square, **square)
    (got,) = tape.hvp(node, np.array([3e4], "f2"))
    np.testing.assert_array_equal(got, np.array([6e4], "f2"), strict=True)


def test_what_is_linear_has_no_second_derivative_anywhere():
    tape = ps.Tape()
    x = tape.variable(np.array([np.inf, np.nan, 0.0, -1e300]))
    double = {"fill_value": 0.0, "derivative": lambda v: 2.0}
    node = tape.apply(ps.apply_where, True, x, lambda v: 2 * v, **double)
    (got,) = tape.hvp(tape.apply(ps.segment_sum, node, [0, 0, 0, 0]), np.ones(4))
    assert got.tolist() == [0, 0, 0, 0]


def test_second_derivatives_of_arguments_of_different_size():
    def move(u, v, of_u, of_v):
        arrays = np.array([u]), np.array([v])
        slopes = {"fill_value": 0.0, "derivative": lambda a, b: (2 * a * b, a * a)}
        call = run(RULES[ps.apply_where], (True, arrays, np.multiply), slopes, "even")
        return Packed(call).bend(np.ones(1), (np.array([of_u]), np.array([of_v])))

    np.testing.assert_allclose(move(1e12, 1.0, 1.0, 0.0), [[2.0], [2e12]])
    np.testing.assert_allclose(move(1e12, 1e-5, 1.0, 1.0), [[2e12], [2e12]])


def test_nodes_that_the_tape_would_not_see():
    tape = ps.Tape()
    x = tape.variable(A)
    product = {"fill_value": 0.0, "derivative": lambda u, v: (v, u)}
    with pytest.raises(TypeError, match="node in 'argument 1'"):
        tape.apply(ps.apply_where, A > 0, (x, A), np.multiply, **product)
    with pytest.raises(TypeError, match="node in 'weights'"):
        tape.apply(ps.segment_sum, A, [0, 0, 1, 1], weights=x)
