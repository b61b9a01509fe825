"""Keep a replica in step by deltas over a socket: python examples/replica.py

A trainer changes float16 weights by small steps, most of which round away; a replica in
another thread receives each change as bytes, verifies it and applies it in place. Bytes
on the wire are counted, and the replica is compared with the weights byte for byte. One
that is behind by a version is told so.
"""

import socket
import struct
import threading

import numpy as np

import pyscatter as ps

SIZE, STEPS = 200_000, 20


def send(connection, data):
    """Send bytes behind their length; return how many went over the wire."""
    connection.sendall(struct.pack("<Q", len(data)) + data)
    return 8 + len(data)


def serve(connection, replica, seen):
    """Apply what arrives, until the other side closes."""
    version = 0
    stream = connection.makefile("rb")
    while header := stream.read(8):
        change = ps.Delta.from_bytes(stream.read(*struct.unpack("<Q", header)))
        change.apply(replica, out=replica, verify="new", base_version=version)
        version = change.version
        seen.append(version)


def main():
    """Train, send, compare."""
    rng = np.random.default_rng(0)
    weights = rng.standard_normal(SIZE).astype(np.float16)
    replica, seen = weights.copy(), []
    here, there = socket.socketpair()
    thread = threading.Thread(target=serve, args=(there, replica, seen))
    thread.start()
    sent = 0
    for step in range(STEPS):
        gradient = rng.standard_normal(SIZE).astype(np.float32)
        new = (weights - 1e-5 * gradient).astype(np.float16)
        change = ps.delta(weights, new).with_versions(step, step + 1)
        sent += send(here, change.to_bytes())
        weights = new
    here.close()
    thread.join()
    there.close()
    assert seen == list(range(1, STEPS + 1))
    assert replica.tobytes() == weights.tobytes()
    whole = STEPS * weights.nbytes
    print(f"{STEPS} steps of {SIZE:,} float16 weights: {whole:,} bytes as arrays")
    print(
        f"{sent:,} bytes as deltas, {whole / sent:.0f} times fewer; equal byte for byte"
    )
    versions()


def versions():
    """Join two deltas, and give one to an array of another version."""
    # Several steps are one delta, and a replica that is behind is told.
    first = np.zeros(1000, np.float16)
    second, third = first + 1, first + 1
    third[7] = 5
    one = ps.delta(first, second).with_versions(0, 1)
    two = ps.delta(second, third).with_versions(1, 2)
    assert (one.compose(two).apply(first) == third).all()
    try:
        two.apply(first, base_version=0)
    except ValueError as error:
        print(f"refused: {error}")


if __name__ == "__main__":
    main()
