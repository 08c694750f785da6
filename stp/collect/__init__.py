"""Collect the scores of finished cells into Parquet files and the results store (DuckDB).

Ranks, paired tests, published values and comparability are computed here, once; tables, figures,
report and views read them.
"""
