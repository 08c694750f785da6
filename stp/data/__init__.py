"""Prepared data that the stages exchange: arrays, index, windows, virtual clips.

This package reads and writes Zarr and Parquet. It also computes data that are derived during
reading, such as distorted clips.
"""
