"""Compare facts that papers print about their benchmarks with those of this project.

The file of a suite declares a table of facts; a module of this package finds the own values.
"""
