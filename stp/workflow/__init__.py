"""What the rules of Snakemake ask: what is made, from what, by which words of `stp`.

Rule files (workflow/) name rules and hold no decisions. All of it is torch-free.
"""
