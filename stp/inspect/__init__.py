"""Datasets as people look at them: counts, leakage, pictures, and the page that lists them all."""
