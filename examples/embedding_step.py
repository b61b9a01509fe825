"""Train an embedding with scatter(out=): python examples/embedding_step.py

Each step reads the rows that a batch names (gather), and adds the gradient of every
occurrence to its row, in place (scatter with op="add" and out=). Frequent rows are named
many times in one batch; losing all but one of their gradients would train something else.
"""

import numpy as np

import pyscatter as ps

ROWS, WIDTH, BATCH, STEPS = 2000, 64, 4096, 20
RATE = np.float32(0.01)


def main():
    """Fit a table to another one, and check a step against a plain loop."""
    rng = np.random.default_rng(0)
    goal = rng.standard_normal((ROWS, WIDTH), dtype=np.float32)
    table = np.zeros_like(goal)
    batches = np.minimum(rng.zipf(1.3, (STEPS, BATCH)), ROWS) - 1
    read = np.empty((BATCH, WIDTH), np.float32)
    for step, ids in enumerate(batches):
        ps.gather(table, ids, out=read)
        gradient = read - ps.gather(goal, ids)
        if step == 0:
            check_step(table, ids, gradient)
        ps.scatter(table, ids, -RATE * gradient, op="add", out=table)
        if step % 5 == 0:
            loss = np.square(gradient).mean()
            print(f"step {step:2d}: loss {loss:.4f}, {len(set(ids.tolist()))} rows")
    frequent = np.abs(table[:8] - goal[:8]).max()
    assert frequent < 0.05, frequent
    print(f"rows of the most frequent ids are within {frequent:.1e} of their goal")


def check_step(table, ids, gradient):
    """The bits of a scatter are those of a loop in the order of the ids."""
    expected = table.copy()
    for row, change in zip(ids.tolist(), -RATE * gradient, strict=True):
        expected[row] += change
    stepped = ps.scatter(table, ids, -RATE * gradient, op="add")
    assert stepped.tobytes() == expected.tobytes()


if __name__ == "__main__":
    main()
