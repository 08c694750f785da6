"""Answer the rules of Snakemake: files to make, their inputs, and commands of `stp`.

Rule files (workflow/) name rules and contain no decisions. The package does not import torch.
"""
