"""Code of single suites (benchmarks): metrics, models, tables, figures, checks; a folder for each.

Modules are found by name, after generic modules; other packages never import them.
"""
