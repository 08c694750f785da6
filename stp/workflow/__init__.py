"""Determine files, inputs and commands of `stp` for the rules of Snakemake.

Rule files (workflow/) only declare rules; decisions are made here. The package does not import
torch.
"""
