"""Adapters that run suites written by others, from their installed packages."""
