"""Metrics: pure functions on arrays, one small module for each metric.

A function that returns a `Metric` defines a convention with its options; the files
``config/conventions/<metric>.yaml`` name the conventions. Networks that some metrics need are in
``networks``.
"""
