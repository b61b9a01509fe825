"""Rewrites the README's table of measurements: ``python -m benchmarks.report``.

All workloads of the families' benchmarks run against NumPy, on one thread and on all;
the table goes between two marker comments in README.md. Nothing is left out, the slower
calls least of all.
"""

import argparse
import re
import sys
from pathlib import Path

import pyscatter as ps
from benchmarks import (
    bench_gather,
    bench_keys,
    bench_nonzero,
    bench_plan,
    bench_scatter,
    bench_segment,
    bench_where,
)
from benchmarks.harness import print_record, restart_clean, run
from pyscatter.bench import OURS, describe

BEGIN = "<!-- benchmark table: begin (written by benchmarks/report.py) -->"
END = "<!-- benchmark table: end -->"
SUITES = (
    bench_scatter,
    bench_gather,
    bench_plan,
    bench_segment,
    bench_where,
    bench_nonzero,
    bench_keys,
)
WORKLOADS = tuple(w for suite in SUITES for w in suite.WORKLOADS)


def measure_all(workloads, scale, threads, seconds=3.0):
    """Records by number of threads: {threads: [record, ...]}."""
    results = {}
    for count in threads:
        print(f"# {count} thread(s)", flush=True)
        results[count] = []
        with ps.num_threads(count):
            for workload in workloads:
                results[count].append(run(workload, scale, False, seconds))
                print_record(results[count][-1])
    return results


def table(results):
    """The records as a Markdown table; NumPy's time is from the first column's run."""
    threads = list(results)
    names = [f"{n} thread{'s' * (n > 1)}" for n in threads]
    head = ["workload", "NumPy's fastest way", "NumPy ms"]
    for name in names:
        head += [f"pyscatter ms, {name}", "ratio"]
    lines = [cells(head), cells(["---", "---"] + ["--:"] * (len(head) - 2))]
    for records in zip(*results.values(), strict=True):
        name, ms, numpy = (records[0][key] for key in ("name", "ms", "numpy"))
        row = [name, f"`{numpy}`", number(ms[numpy])]
        for record in records:
            row += [number(record["ms"][OURS]), f"{record['numpy_ratio']:.2f}"]
        lines.append(cells(row))
    return "\n".join(lines)


def cells(texts):
    """One line of a Markdown table."""
    return f"| {' | '.join(texts)} |"


def number(ms):
    """Three significant digits, never in exponent form."""
    if ms >= 100:
        return f"{ms:.0f}"
    return f"{ms:.3g}" if ms >= 1e-3 else f"{ms:.6f}"


def rewrite(text, block):
    """`text` with `block` between the two markers."""
    pattern = re.escape(BEGIN) + ".*?" + re.escape(END)
    if len(re.findall(pattern, text, re.DOTALL)) != 1:
        raise ValueError(f"the markers must occur once: {BEGIN} ... {END}")
    replacement = f"{BEGIN}\n{block}\n{END}"
    return re.sub(pattern, lambda match: replacement, text, flags=re.DOTALL)


def main(argv=None):
    """Measure, then write the table into the README."""
    readme = Path(__file__).resolve().parents[1] / "README.md"
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report")
    parser.add_argument("--scale", type=float, default=1.0, help="of all sizes")
    parser.add_argument("--readme", type=Path, default=readme)
    args = parser.parse_args(argv)
    restart_clean()
    text = rewrite(args.readme.read_text(encoding="utf-8"), "")
    threads = sorted({1, ps.get_num_threads()})
    results = measure_all(WORKLOADS, args.scale, threads)
    sizes = f" All sizes times {args.scale}." if args.scale != 1 else ""
    note = (
        "Medians; ratio: NumPy's time over pyscatter's, above 1 pyscatter is faster."
        f"{sizes} {describe()}."
    )
    block = f"\n{table(results)}\n\n{note}\n"
    args.readme.write_text(rewrite(text, block), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
