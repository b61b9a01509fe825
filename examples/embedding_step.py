"""Train an embedding with scatter(out=): python examples/embedding_step.py

Each step reads the rows that a batch names (gather), and adds the gradient of every
occurrence to its row, in place (scatter with op="add" and out=). Frequent rows are
named a thousand times in one batch; `table[ids] -= ...` would keep one gradient.
"""

import numpy as np

import pyscatter as ps

ROWS, WIDTH, BATCH, STEPS = 2000, 64, 4096, 20
RATE = np.float32(0.5)


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
        times = ps.scatter(np.zeros(ROWS, np.float32), ids, 1, op="add")
        change = -RATE * gradient / times[ids][:, None]  # the mean over occurrences
        if step == 0:
            check_step(table, ids, change)
        ps.scatter(table, ids, change, op="add", out=table)
        if step % 5 == 0:
            loss, named = np.square(gradient).mean(), np.count_nonzero(times)
            print(f"step {step:2d}: loss {loss:.6f}, {named} rows named")
    distance = np.abs(table[:8] - goal[:8]).max()
    assert distance < 1e-3, distance
    print(f"the rows of the most frequent ids are within {distance:.0e} of their goal")


def check_step(table, ids, change):
    """The bits of a scatter are those of a loop in the order of the ids."""
    expected = table.copy()
    for row, one_change in zip(ids.tolist(), change, strict=True):
        expected[row] += one_change
    stepped = ps.scatter(table, ids, change, op="add")
    assert stepped.tobytes() == expected.tobytes()


if __name__ == "__main__":
    main()
