"""Collect the scores of finished cells into Parquet files and the results store (DuckDB).

A cell is one model, trained on one dataset, tested on one dataset, in one setting, with one seed.
Ranks, paired tests, matches with published values and comparability are computed once, here;
tables, figures, report and views read the results.
"""
