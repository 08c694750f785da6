"""Metrics: pure functions on arrays, one small module for each metric.

A function that returns a `Metric` defines, with its options, a convention: one exact definition of
a metric. The files ``config/conventions/<metric>.yaml`` give each convention a name, such as
``ssim.range2``. Networks that some metrics need are in ``networks``.
"""
