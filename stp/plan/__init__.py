"""The plan: which results exist, their inputs and their paths, from the configuration only.

It needs neither results on disk nor torch. Snakemake, the command line and tests use it; every path
in the store is built here.
"""
