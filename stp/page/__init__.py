"""How tables and figures look: text, CSV, HTML, LaTeX, Markdown, styles of figures.

This package computes no numbers: `stp.render`, `stp.report` and others decide on the contents of a
table, and fill a `Grid`.
"""
