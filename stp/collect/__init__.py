"""Rows of finished cells -> one parquet file and one DuckDB database."""
