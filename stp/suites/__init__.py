"""Code of single suites, in one folder for each suite: metrics, models, tables, figures, checks.

Modules are found by name, after generic modules; other packages never import them.
"""
