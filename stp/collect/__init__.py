"""Collect the scores of finished cells into Parquet files and the results store (DuckDB).

Ranks, paired tests, matches with published values and comparability are computed once, here;
tables, figures, report and views read the results.
"""
