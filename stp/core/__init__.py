"""What every room uses: files, receipts, fingerprints, errors. Knows nothing of benchmarks."""
