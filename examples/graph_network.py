"""A two-layer graph network in plain NumPy: python examples/graph_network.py

Zachary's karate club: 34 members, 78 friendships, and the two sides into which it fell
apart. Two members are known; the network learns the sides of all others. Layers are
recorded on a tape, whose gradients train them and whose second derivative is checked.
"""

import numpy as np

import pyscatter as ps

FRIENDS = {
    0: (1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31),
    1: (2, 3, 7, 13, 17, 19, 21, 30),
    2: (3, 7, 8, 9, 13, 27, 28, 32),
    3: (7, 12, 13),
    4: (6, 10),
    5: (6, 10, 16),
    6: (16,),
    8: (30, 32, 33),
    9: (33,),
    13: (33,),
    14: (32, 33),
    15: (32, 33),
    18: (32, 33),
    19: (33,),
    20: (32, 33),
    22: (32, 33),
    23: (25, 27, 29, 32, 33),
    24: (25, 27, 31),
    25: (31,),
    26: (29, 33),
    27: (33,),
    28: (31, 33),
    29: (32, 33),
    30: (32, 33),
    31: (32, 33),
    32: (33,),
}
SIDE = np.array([0] * 9 + [1] + [0] * 5 + [1] * 19)
SIDE[[8, 14]] = 1
SIDE[[16, 17, 19, 21]] = 0
KNOWN, HIDDEN, STEPS, RATE = np.array([0, 33]), 8, 150, 0.4


def product_jvp(tangents, out, x, w):
    """Move a product by what moves of its factors."""
    dx, dw = tangents
    parts = [0 if dx is None else dx @ w, 0 if dw is None else x @ dw]
    return parts[0] + parts[1]


PRODUCT = {"vjp": lambda g, out, x, w: (g @ w.T, x.T @ g), "jvp": product_jvp}
TANH = {
    "vjp": lambda g, out, x: g * (1 - out**2),
    "jvp": lambda t, out, x: t[0] * (1 - out**2),
}


def neighbours():
    """Return the matrix that averages over a member and its friends."""
    pairs = [(a, b) for a, friends in FRIENDS.items() for b in friends]
    assert len(pairs) == 78
    a, b = np.array(pairs).T
    everyone = np.arange(34)
    row, col = np.concatenate([a, b, everyone]), np.concatenate([b, a, everyone])
    degree = np.bincount(row)
    weights = 1 / np.sqrt(degree[row] * degree[col])
    return ps.coo_to_csr(weights, (row, col), (34, 34))


def record(links, first, second):
    """Return a tape and its nodes: scores of all members, loss of those known."""
    tape = ps.Tape()
    first, second = tape.variable(first), tape.variable(second)
    hidden = tape.apply(np.tanh, tape.apply(ps.spmm, links, first), **TANH)
    mixed = tape.apply(np.matmul, tape.apply(ps.spmm, links, hidden), second, **PRODUCT)
    flat = tape.apply(
        np.ravel,
        mixed,
        vjp=lambda g, out, x: g.reshape(x.shape),
        jvp=lambda t, out, x: t[0].reshape(-1),
    )
    logs = tape.apply(ps.segment_log_softmax, flat, offsets=np.arange(0, 70, 2))
    chosen = tape.apply(ps.gather, logs, 2 * KNOWN + SIDE[KNOWN])
    return tape, mixed, tape.apply(ps.segment_sum, chosen, offsets=[0, KNOWN.size])


def check(links, weights):
    """Compare gradients and a second derivative with differences."""
    rng = np.random.default_rng(1)
    moves = [rng.standard_normal(w.shape) for w in weights]
    h, ends = 1e-5, []
    for sign in (1, -1):
        tape, _, score = record(
            links, *(w + sign * h * m for w, m in zip(weights, moves, strict=True))
        )
        ends.append((score.value[0], tape.reverse(score)))
    tape, _, score = record(links, *weights)
    slope = tape.forward(score, *moves)[0]
    assert np.isclose((ends[0][0] - ends[1][0]) / (2 * h), slope, rtol=1e-6)
    for got, up, down in zip(
        tape.hvp(score, *moves), ends[0][1], ends[1][1], strict=True
    ):
        assert np.allclose(got, (up - down) / (2 * h), rtol=1e-4, atol=1e-7)


def main():
    """Train, and count who is put on the right side."""
    links, rng = neighbours(), np.random.default_rng(0)
    weights = [rng.standard_normal((34, HIDDEN)) / 4, rng.standard_normal((HIDDEN, 2))]
    check(links, weights)
    losses = []
    for _ in range(STEPS):
        tape, scores, score = record(links, *weights)
        gradients = tape.reverse(score)
        for weight, gradient in zip(weights, gradients, strict=True):
            weight += RATE * gradient
        losses.append(-score.value[0] / KNOWN.size)
    right = int((scores.value.argmax(axis=1) == SIDE).sum())
    assert losses[-1] < 0.05 < losses[0] and right >= 30
    print(f"{links.nnz} links between 34 members, of whom {KNOWN.size} are known")
    print(f"loss {losses[0]:.3f} before training, {losses[-1]:.4f} after {STEPS} steps")
    print(f"{right} of 34 members are on the side that they took")


if __name__ == "__main__":
    main()
