"""Stage `score`: scores of predictions, for each sample, at each lead time, and overall.

Predictions and truth are read in blocks, statistics of metrics are summed over clusters, and values
and intervals are computed from these sums.
"""
