"""The results store -> the HTML report: one page with data, charts and pictures.

The page itself, in JavaScript, is in `page`.
"""
