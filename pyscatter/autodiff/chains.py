"""Jacobians of chains: which order of the products of stages is cheapest.

The work of a product of sparse matrices is the number of its terms: for each entry of
the left one the entries of a row of the right one. With entries spread evenly that is
nnz(A) nnz(B) / inner. A dynamic programme over all brackets finds the least sum.
"""

import numpy as np

from pyscatter import _core
from pyscatter.autodiff import calls
from pyscatter.sparse import CSR


def stages_between(variable, node):
    """Return the nodes from a variable to a node, where one path leads there."""
    path = []
    while node is not variable:
        if node.step is None:
            return None
        moving = [
            (i, p) for i, p in node.step.parents.items() if depends(p, variable, {})
        ]
        if len(moving) != 1:
            return None
        path.append((node, moving[0][0]))
        node = moving[0][1]
    return path[::-1] or None


def depends(node, variable, seen):
    """Whether a node's value is made of a variable's."""
    if node.number not in seen:
        seen[node.number] = node is variable or (
            node.step is not None
            and any(depends(p, variable, seen) for p in node.step.parents.values())
        )
    return seen[node.number]


def work_of(tape, node):
    """Return the elements that a sweep over a tape reads and writes."""
    sizes = 0
    for each in tape._nodes[: node.number + 1]:
        if each.step is not None:
            sizes += calls.numbers_of(each.value).size
            for parent in each.step.parents.values():
                sizes += np.size(getattr(parent.value, "data", parent.value))
    return sizes


def size_of(stage):
    """Return (rows, columns, entries) of a stage's Jacobian, before it is made."""
    node, i = stage
    out = calls.numbers_of(node.value).size
    x = node.step.parents[i].value
    x = np.size(x.data if hasattr(x, "format") else x)
    return out, x


def matrix_of(stage):
    """Return the Jacobian of a stage: in closed form, or by sweeps."""
    from pyscatter.autodiff import jacobians

    node, i = stage
    step, shape = node.step, size_of(stage)
    rule = getattr(step, "rule", None)
    if rule is not None and rule.jacobian is not None:
        call = step.call.anew()
        made = rule.jacobian(call, i, shape)
        if made is not None:
            return made
    x = step.values[i]

    def forward(v):
        return step.push({i: v.reshape(np.shape(x))}).reshape(-1)

    return jacobians.by_basis(forward, shape[1], shape[0], False)


def planned(shapes, counts):
    """Return (cost, order) of the cheapest product of stages.

    Stage k has shape shapes[k] and counts[k] entries; the product is stage n-1 ... 0.
    """
    n = len(shapes)
    best = {(k, k): (0.0, counts[k], k) for k in range(n)}
    for width in range(1, n):
        for low in range(n - width):
            high = low + width
            best[low, high] = min(
                (_joined(best, shapes, low, cut, high) for cut in range(low, high)),
                key=lambda three: three[0],
            )
    cost, _, order = best[0, n - 1]
    return int(cost), order


def _joined(best, shapes, low, cut, high):
    """Return (cost, entries, order) of the product of two brackets."""
    right, left = best[low, cut], best[cut + 1, high]
    terms = left[1] * right[1] / max(shapes[cut][0], 1)
    entries = min(terms, float(shapes[high][0]) * shapes[low][1])
    return left[0] + right[0] + terms, entries, (left[2], right[2])


def plan_of(stages):
    """Return (cost, order) of a chain, from the entries of its stages."""
    shapes = [size_of(stage) for stage in stages]
    return planned(shapes, [count_of(stage) for stage in stages])


def count_of(stage):
    """Return how many entries a stage's Jacobian has at most.

    Stages without a closed form count as full, and their sweeps as work.
    """
    node, i = stage
    out, x = size_of(stage)
    name = node.step.name
    if getattr(node.step, "rule", None) is None:
        return float(out) * x
    if name == "spmm":
        return float(max(out, x)) * 8
    if "softmax" in name or "scan" in name or "cumsum" in name:
        return float(out) * x
    return float(max(out, x))


def multiplied(stages):
    """Return (matrix, cost, order): the stages multiplied in the cheapest order."""
    matrices = [matrix_of(stage) for stage in stages]
    shapes = [made.shape for made in matrices]
    cost, order = planned(shapes, [float(made.nnz) for made in matrices])

    def product(part):
        if isinstance(part, int):
            return matrices[part]
        left, right = map(product, part)
        return _core.spgemm(CSR, left, right)[0]

    return product(order), cost, order
