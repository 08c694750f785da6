"""How tables and figures look: text, CSV, HTML, LaTeX, Markdown, styles of figures.

It has no numbers of its own: what is in a table is decided by the rooms `render`, `report` and
others, which fill a `Grid`.
"""
