"""Rows of finished cells -> Parquet files and the results store, a DuckDB database.

Ranks, paired tests, published values and comparability are computed here, once; tables, figures,
report and views read them.
"""
