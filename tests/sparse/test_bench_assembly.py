"""The benchmark of assembly and sparse products runs on a small scale."""

from benchmarks import bench_assembly


def test_the_table(capsys):
    assert bench_assembly.main(["--scale", "0.002", "--threads", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 8
    assert lines[1].startswith("assembly, first ")
