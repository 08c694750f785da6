"""Export submission bundles, citations and cards.

`stp store export` and `stp list works` use this package; imports are in `external` and `upkeep`.
"""
