"""Fetch and verify raw files and weights of networks: downloads, archives, lock files.

The generators of synthetic data (`stp.datasets`) use the scenes and file formats of this package.
"""
