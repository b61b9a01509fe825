"""Keras 3 layers: indexed updates inside a model, on TensorFlow, torch or JAX.

Each layer calls the adapter of Keras' backend, so its gradients are pyscatter's. Shapes
are checked when the layer is built, and an error names the layer and the shapes. On
JAX, whose traced indices cannot be checked, an index out of bounds is dropped.

Layers are saved with the model by their get_config, and loaded in another process once
this module is imported.
"""

from pyscatter.adapters._imports import required

keras = required("keras", "keras")

from pyscatter.adapters._keras_changes import (  # noqa: E402
    ChangeMonitor,
    ChangeTrackerCallback,
)
from pyscatter.adapters._keras_layers import (  # noqa: E402
    BatchScatter,
    ConditionalUpdate,
    GatherNd,
    ScatterNd,
    SegmentReduce,
    SparseDense,
)

__all__ = [
    "BatchScatter",
    "ChangeMonitor",
    "ChangeTrackerCallback",
    "ConditionalUpdate",
    "GatherNd",
    "ScatterNd",
    "SegmentReduce",
    "SparseDense",
]
