"""Layout of tables and figures: text, CSV, HTML, LaTeX, Markdown, and styles of figures.

This package computes no numbers: `stp.render`, `stp.report` and others decide on the contents of a
table, and fill a `Grid`.
"""
