"""The speed gate: ``python -m benchmarks.gate`` fails when pyscatter is behind NumPy.

Each advertised call is timed beside the fastest NumPy way to do the same, in one
process, in turns; a call whose median of five ratios is below the floor gets a second
chance, since a neighbour on the machine can spoil one measurement but rarely two. The
floor is below 1 for the same reason. The workloads are pyscatter.bench's.
"""

import sys

from pyscatter.bench import HEAD, WORKLOADS, describe, line, run

FLOOR = 0.8
UPDATES = 1_000_000


def judge(workload, timer=run):
    """The workload's row, measured again when it is below the floor."""
    row = timer(workload, UPDATES)
    return row if row.ratio >= FLOOR else timer(workload, UPDATES)


def main():
    """Print the table; the exit code is 1 when a call is below the floor."""
    print(f"{describe()}\nfloor {FLOOR}, {UPDATES:,} updates\n\n{HEAD}")
    failed = 0
    for workload in filter(lambda w: w.in_gate, WORKLOADS):
        row = judge(workload)
        slow = row.ratio < FLOOR
        print(line(row) + "  BELOW THE FLOOR" * slow, flush=True)
        failed += slow
    print(f"\n{failed} calls below the floor" if failed else "\nspeed gate passed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
