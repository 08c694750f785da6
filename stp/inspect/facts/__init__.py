"""Compare facts that papers print about their benchmarks with the facts of this project.

The file of a suite declares tables of facts; modules of this package determine our own values.
"""
