"""Sums of gradients in plain Python: one element after the other."""

import numpy as np


def accumulate(acc, g, weight, how):
    """Add weight * g to a copy of acc; return it and how many were not finite.

    how: 0 adds all products, 1 those that are finite, 2 none.
    """
    result, odd = acc.copy(), 0
    flat, given = result.reshape(-1), g.reshape(-1)
    real = acc.real.dtype.type
    with np.errstate(all="ignore"):
        for i in range(flat.size):
            parts = [real(weight) * real(float(given[i].real))]
            if acc.dtype.kind == "c":
                parts.append(real(weight) * real(float(given[i].imag)))
            is_odd = not all(np.isfinite(part) for part in parts)
            odd += is_odd
            if how == 2 or (how == 1 and is_odd):
                continue
            sums = [flat[i].real + parts[0]]
            if len(parts) == 2:
                sums.append(flat[i].imag + parts[1])
                flat[i] = complex(*map(float, sums))
            else:
                flat[i] = sums[0]
    return result, odd
