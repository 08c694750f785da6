"""Helpers of every room: files, locks, receipts, fingerprints, the store, errors.

The room knows nothing of benchmarks: no model, dataset, metric or suite. A helper that two rooms
need, and that concerns none of these, belongs here.
"""
