"""Prepared data, as the stages share them: arrays, index, windows, virtual clips.

This package reads and writes Zarr and Parquet, and makes what is derived from prepared data while
they are read, such as distortions.
"""
