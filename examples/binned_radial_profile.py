"""The radial profile of an image: python examples/binned_radial_profile.py

The image is a blurred ring with noise; a pixel belongs to the bin of its distance from
the middle. One call gives mean, spread and number of the pixels at each distance.
"""

import numpy as np

import pyscatter as ps

SIZE, BINS = 256, 24


def make_image():
    """A ring around the middle, and the distance of every pixel from there."""
    y, x = np.indices((SIZE, SIZE)) - (SIZE - 1) / 2
    distance = np.hypot(x, y)
    noise = np.random.default_rng(1).normal(0, 0.05, (SIZE, SIZE))
    return np.exp(-(((distance - 60) / 12) ** 2)) + noise, distance


def main():
    """Compute the profile in one call, and compare it with NumPy bin by bin."""
    image, distance = make_image()
    ops = ("mean", "std", "count")
    binned = ps.binned_reduce((distance,), image, BINS, (0, SIZE / 2), op=ops)
    mean, std, count = binned.result

    edges = binned.edges
    for i, (low, high) in enumerate(zip(edges, edges[1:], strict=False)):
        is_inside = (distance >= low) & (distance < high)
        assert count[i] == is_inside.sum()
        assert np.isclose(mean[i], image[is_inside].mean())
        assert np.isclose(std[i], image[is_inside].std())
    assert (binned.ids[distance > SIZE / 2] == -1).all()  # corners take no part
    assert edges[mean.argmax()] <= 60 <= edges[mean.argmax() + 1]

    print("distance   mean    std  pixels")
    for low, middle, spread, n in zip(edges, mean, std, count, strict=False):
        bar = "*" * round(40 * middle)
        print(f"{low:8.1f}{middle:7.3f}{spread:7.3f}{n:8d}  {bar}".rstrip())


if __name__ == "__main__":
    main()
