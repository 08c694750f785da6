"""One folder for each suite that needs code of its own: metrics, models, tables, figures, checks.

Leaves: other rooms find them by name, after the generic ones, and import none.
"""
