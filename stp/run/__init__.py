"""Everything around the core of a stage: runner, progress, status, cluster jobs, cost estimates.

The core of a stage is the function that does its work. This package makes one artefact (folder of
results) of the plan at a time, and knows which artefacts are finished, running or failed; Snakemake
decides on the order.
"""
