"""What exists, what it is made from and where it lives, from the configuration alone.

It looks at no disk and imports no torch. Snakemake, the command line and tests ask it; every path
in the store is built here.
"""
