"""The benchmark of products says what the check of a structure takes of each."""

import re

from benchmarks import bench_spmm


def test_every_cell_has_a_share(capsys):
    bench_spmm.print_shares(0.001)
    lines = capsys.readouterr().out.splitlines()
    cells = [line for line in lines if re.fullmatch(r" *\d+k cs[rc] .* +[\d.]+%", line)]
    names = {tuple(line.split()[:-1]) for line in cells}
    assert len(names) == len(cells) == 2 * 2 * (2 * 4 + 2)
