"""What surrounds the core of a stage: runner, progress, status, cluster, costs.

It makes one artefact at a time from the plan, and knows what is done, runs or failed; Snakemake
decides about the order.
"""
