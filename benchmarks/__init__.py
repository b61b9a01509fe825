"""Benchmarks for developers: rivals in one process, sweeps over all kernels, the gate.

Started from the root of the source tree as ``python -m benchmarks.<name>``. What users
run is ``python -m pyscatter.bench``; its workloads are the ones the gate tests.
"""
