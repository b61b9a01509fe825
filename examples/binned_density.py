"""A density in two dimensions with mean colours: python examples/binned_density.py

Points of three clusters have a colour each. Counts and mean colours on one grid are a
picture: how many points a cell has is its brightness, what they are is its hue.
"""

import numpy as np

import pyscatter as ps

SHADES = " .:-=+*#%@"


def make_points(n=60_000):
    """Points around three centres, red, green and blue, some colours mixed."""
    rng = np.random.default_rng(2)
    kind = rng.integers(0, 3, n)
    centre = np.array([[-1.0, -0.5], [1.0, -0.5], [0.0, 1.0]])[kind]
    points = centre + rng.normal(0, 0.5, (n, 2))
    colour = np.eye(3)[kind] * 0.8 + rng.random((n, 3)) * 0.2
    return points, colour


def main():
    """Reduce twice on one grid, compare with NumPy, and show it."""
    points, colour = make_points()
    grid = {"bins": (48, 20), "range": ((-2.4, 2.4), (-2, 2.4))}
    count, (x_edges, y_edges), _ = ps.binned_reduce(points, **grid)
    mean = ps.binned_reduce(points, colour, op="mean", **grid).result

    right, *_ = np.histogram2d(*points.T, **grid)
    assert (count == right).all() and mean.shape == (48, 20, 3)
    for channel in range(3):
        total, *_ = np.histogram2d(*points.T, **grid, weights=colour[:, channel])
        assert np.allclose(
            mean[count > 0, channel], total[count > 0] / right[right > 0]
        )
    assert np.isnan(mean[count == 0]).all()  # no point, no colour

    shade = np.minimum(len(SHADES) - 1, count * len(SHADES) // (count.max() + 1))
    hue = np.where(count > 0, np.nan_to_num(mean).argmax(-1), 0)
    for row in range(len(y_edges) - 2, -1, -1):
        cells = zip(shade[:, row], hue[:, row], strict=True)
        print("".join(f"\033[3{1 + h}m{SHADES[s]}\033[0m" for s, h in cells))
    print(f"x from {x_edges[0]:.1f} to {x_edges[-1]:.1f}, {count.sum()} points shown")


if __name__ == "__main__":
    main()
