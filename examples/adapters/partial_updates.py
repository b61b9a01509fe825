"""Parts of variables, in place: python examples/adapters/partial_updates.py

The same five updates of a tf.Variable, a torch parameter and a Keras variable: single
elements, rows that repeat, a threshold, a scaling by another array, a slice. The three
end with the same numbers. Then a parameter of torch is trained with rows that a mask
keeps at zero after every step.
"""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf
import torch

import pyscatter as ps
import pyscatter.adapters.tensorflow as pt
import pyscatter.adapters.torch as pu

START = np.arange(12, dtype=np.float32).reshape(4, 3) - 4
FACTOR = np.linspace(0.5, 1.5, 12, dtype=np.float32).reshape(4, 3)
TUPLES, VALUES = [[0, 1], [3, 2], [0, 1]], np.array([10.0, 20.0, 30.0], np.float32)
ROWS = [1, 1, 2]


def of_tensorflow():
    """Update a tf.Variable."""
    var = tf.Variable(START)
    pt.update_variable(var, TUPLES, VALUES, op="add")
    pt.update_variable(var, [[r] for r in ROWS], np.ones((3, 3), np.float32), op="add")
    var.assign(pt.where(var < 0.0, 0.0, var))
    var.assign(pt.scatter_where(var, var > 5.0, FACTOR, op="mul"))
    pt.update_variable(var, [[0]], 7.0)
    return var.numpy()


def of_torch():
    """Update a parameter of torch."""
    parameter = torch.nn.Parameter(torch.tensor(START))
    with torch.no_grad():
        tuples, values = torch.tensor(TUPLES), torch.tensor(VALUES)
        pu.scatter_nd_(parameter, tuples, values, op="add")
        pu.scatter_(parameter, torch.tensor(ROWS), torch.ones(3, 3), op="add")
        parameter.copy_(pu.where(parameter < 0, 0.0, parameter))
        scaled = pu.scatter_where(
            parameter, parameter > 5, torch.tensor(FACTOR), op="mul"
        )
        parameter.copy_(scaled)
        parameter[0] = 7.0
    return parameter.detach().numpy()


def of_keras():
    """Update a variable of Keras, on any backend."""
    variable = keras.Variable(START)
    array = keras.ops.convert_to_numpy(variable).copy()
    ps.scatter_nd(array, TUPLES, VALUES, op="add", out=array)
    ps.scatter(array, ROWS, 1.0, op="add", out=array)
    ps.scatter_where(array, array < 0, 0.0, out=array)
    ps.scatter_where(array, array > 5, FACTOR, op="mul", out=array)
    ps.scatter(array, [0], 7.0, out=array)
    variable.assign(array)
    return keras.ops.convert_to_numpy(variable)


def train():
    """Fit a parameter some of whose rows stay zero; return first and last loss."""
    torch.manual_seed(0)
    weight = torch.nn.Parameter(torch.randn(20, 5))
    kept = torch.arange(20) % 4 == 0
    goal = torch.randn(20, 5)
    goal[kept] = 0
    optimizer = torch.optim.Adam([weight], 0.05)
    losses = []
    for _ in range(150):
        x = torch.randn(64, 20)
        loss = ((x @ weight - x @ goal) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            pu.scatter_(weight, kept.nonzero()[:, 0], torch.tensor(0.0))
        losses.append(loss.item())
    assert not weight[kept].any()
    return losses[0], losses[-1]


def main():
    """Make the updates, compare them, and train."""
    results = of_tensorflow(), of_torch(), of_keras()
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])
    print("tf.Variable, torch parameter and Keras variable agree:")
    print(results[0])
    first, last = train()
    print(f"masked rows stay zero while the loss falls: {first:.2f} -> {last:.4f}")
    assert last < 0.1 * first


if __name__ == "__main__":
    main()
