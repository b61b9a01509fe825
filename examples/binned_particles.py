"""Particles deposited on a grid and moved by it: python examples/binned_particles.py

Mass goes to the nearest cell of a periodic box in three dimensions, all particles in
one call; the mean velocity of a cell comes from the same grid. Total mass and momentum
of the grid are those of the particles, step after step.
"""

import numpy as np

import pyscatter as ps

CELLS, N, STEPS = 16, 50_000, 4
GRID = {"bins": CELLS, "range": (0.0, 1.0)}


def deposit(position, mass, velocity):
    """Mass and mean velocity of each cell, and the cell of each particle."""
    coords = tuple(position.T)
    total, _, cell = ps.binned_reduce(coords, mass, op="add", **GRID)
    momentum = ps.binned_reduce(
        coords, mass[:, None] * velocity, op="add", **GRID
    ).result
    some = total > 0
    mean = np.zeros_like(momentum)
    mean[some] = momentum[some] / total[some, None]
    return total, mean, cell


def main():
    """Move particles through the box, half of their speed that of their cell."""
    rng = np.random.default_rng(3)
    position = rng.random((N, 3)) ** 2  # denser at one corner
    velocity = rng.normal(0, 0.05, (N, 3))
    mass = rng.random(N)
    for step in range(STEPS):
        total, mean, cell = deposit(position, mass, velocity)
        assert np.isclose(total.sum(), mass.sum())
        assert np.allclose((total[..., None] * mean).sum((0, 1, 2)), mass @ velocity)
        if step == 0:
            right, _ = np.histogramdd(position, CELLS, ((0, 1),) * 3, weights=mass)
            assert np.allclose(total, right)
        velocity = (velocity + ps.gather(mean.reshape(-1, 3), cell)) / 2
        position = (position + velocity) % 1
        full = np.count_nonzero(total)
        print(f"step {step}: {full} of {total.size} cells, densest {total.max():.1f}")


if __name__ == "__main__":
    main()
