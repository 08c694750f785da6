"""What leaves the project: submission bundles, citations, cards.

`stp store export` and `stp list works` are made of it; what comes in is in `external` and `upkeep`.
"""
