"""What every room uses: files, locks, receipts, fingerprints, the store, errors.

It knows nothing of benchmarks: no model, dataset, metric or suite. A helper that two rooms need and
that is about none of these belongs here.
"""
