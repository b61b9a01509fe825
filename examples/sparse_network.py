"""A network of sparse layers: python examples/sparse_network.py [network.npz]

Each layer is a sparse matrix with a bias and a rectifier, and the batch is sparse, too,
as in the Graph Challenge's sparse deep networks. Layers and images are generated, or
read from a file: `layer1`, `layer2` ... are rows and columns of links of one `weight`,
`images` those of lit pixels.
"""

import sys

import numpy as np

import pyscatter as ps

NEURONS, LAYERS, FAN_IN, IMAGES, BIAS, CEILING = 256, 6, 8, 60, -0.05, 32.0


def generated():
    """Return lit pixels, and layers in which every neuron listens to FAN_IN others."""
    rng = np.random.default_rng(0)
    target = np.repeat(np.arange(NEURONS), FAN_IN)
    layers = []
    for _ in range(LAYERS):
        source = rng.integers(0, NEURONS, target.size)
        weight = rng.uniform(0, 4 / FAN_IN, target.size).astype(np.float32)
        layers.append(ps.coo_to_csr(weight, (source, target), (NEURONS, NEURONS)))
    lit = (rng.random((IMAGES, NEURONS)) < 0.1).astype(np.float32)
    return ps.CSR.from_dense(lit), layers


def read(path):
    """Return lit pixels and layers of a file."""
    with np.load(path) as file:
        names = sorted(name for name in file.files if name.startswith("layer"))
        links = [tuple(file[name]) for name in names]
        weight, lit = file["weight"], tuple(file["images"])
    size = 1 + max(int(end.max()) for pair in links for end in pair)
    images = ps.coo_to_csr(np.float32(1), lit, (1 + int(lit[0].max()), size))
    return images, [ps.coo_to_csr(weight, pair, (size, size)) for pair in links]


def activate(batch):
    """Add the bias to what is stored and drop what is not positive."""
    value = np.minimum(batch.data + np.float32(BIAS), np.float32(CEILING))
    coo = batch.to_coo()
    row, col, kept = (ps.gather_where(x, value > 0) for x in (coo.row, coo.col, value))
    return ps.COO((kept, (row, col)), batch.shape).to_csr()


def main():
    """Send a batch through the network; check it with dense matrices."""
    batch, layers = read(sys.argv[1]) if len(sys.argv) > 1 else generated()
    images, size = batch.shape
    dense = batch.to_dense().astype(np.float64)
    for layer in layers:
        batch = activate(ps.spgemm(batch, layer))
        product = dense @ layer.to_dense()
        dense = np.where(product > 0, np.clip(product + BIAS, 0, CEILING), 0)
    assert np.allclose(batch.to_dense(), dense, atol=1e-4)
    active = np.unique(batch.to_coo().row).size
    print(f"{len(layers)} layers of {layers[0].nnz} links between {size} neurons")
    print(f"{images} images, {active} of them still active behind the last layer")
    print(f"{batch.nnz} activations, the largest {batch.data.max(initial=0):.3f}")


if __name__ == "__main__":
    main()
