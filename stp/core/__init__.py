"""Helpers of all subpackages of ``stp``: files, locks, receipts, fingerprints, the store, errors.

This package knows nothing of benchmarks: no model, dataset, metric or suite. A helper that two
subpackages need, and that concerns none of these, belongs here.
"""
