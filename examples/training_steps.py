"""How much of a network changes in a step? python examples/training_steps.py

A small network learns by plain gradient descent in NumPy; its weights are kept in
float32 and sent as float16, as a server might. A step changes nearly all bits of the
first and few of the second: small updates round away. That is why a delta of what is
sent is small.
"""

import numpy as np

import pyscatter as ps

STEPS = 30
RATE = 0.002


def gradients(weights, x, y):
    """Of the mean squared error of a layer of tanh and a linear one."""
    hidden = np.tanh(x @ weights["in"])
    error = (hidden @ weights["out"] - y) / len(x)
    back = (error @ weights["out"].T) * (1 - hidden**2)
    return {"in": x.T @ back, "out": hidden.T @ error}


def main():
    """Train, and print what a step changes at the start and at the end."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((256, 32)).astype(np.float32)
    y = np.sin(x[:, :4]).astype(np.float32)
    weights = {
        "in": rng.standard_normal((32, 64)).astype(np.float32) / 6,
        "out": rng.standard_normal((64, 4)).astype(np.float32) / 8,
    }
    kept = ps.TrackerSet(on_nonfinite="raise", history=STEPS)
    sent = ps.TrackerSet()
    for step in range(STEPS + 1):
        full = kept.update(weights)
        half = sent.update({k: w.astype(np.float16) for k, w in weights.items()})
        if step in (1, STEPS):
            for name in weights:
                print(
                    f"step {step:2d} {name:4s}: {full[name].frac_changed:6.1%} of the "
                    f"float32, {half[name].frac_changed:6.1%} of the float16 weights "
                    f"change; the step is {full[name].rel_change:.1e} of the weights"
                )
        for name, gradient in gradients(weights, x, y).items():
            weights[name] -= np.float32(RATE) * gradient
    print(kept.summary())
    changed = [half[name].frac_changed for name in weights]
    assert max(changed) < min(full[name].frac_changed for name in weights)


if __name__ == "__main__":
    main()
