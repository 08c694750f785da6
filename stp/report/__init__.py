"""The HTML report of a results store: one page with data, charts and pictures.

The scripts of the page, in JavaScript, are in the folder ``page``.
"""
