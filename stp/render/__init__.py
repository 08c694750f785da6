"""Tables, figures and pictures of forecasts, made from rows of the results store.

Each of the three has a folder; their style is defined in `stp.page`.
"""
