"""Tables, figures and pictures of forecasts, made from rows of the results store.

Tables, figures and pictures have a folder each; `stp.page` defines their style.
"""
