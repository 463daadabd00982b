"""Measurements: run one with ``python -m benchmarks.NAME``, all with ``make bench``. Nothing here is a test."""
