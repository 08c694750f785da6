"""Code for raw layouts, a folder for each: `reader.py` prepares, `generator.py` makes synthetic
data.

Modules are found by names in the configuration; other packages never import them.
"""
