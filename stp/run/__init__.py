"""Everything around the core of a stage: runner, progress, status, cluster jobs, cost estimates.

This room makes one artefact of the plan at a time, and knows which artefacts are finished, running
or failed; Snakemake decides on the order.
"""
