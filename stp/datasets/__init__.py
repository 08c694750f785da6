"""Code for the raw files of each dataset or benchmark, in a folder of its own.

`reader.py` turns raw files into prepared data; `generator.py` makes synthetic raw files.

Modules are found by names in the configuration; other packages never import them.
"""
