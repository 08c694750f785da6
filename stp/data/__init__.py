"""Prepared data, as the stages share them: arrays, index, windows, virtual clips.

Reading and writing of Zarr and Parquet is here, and what is made from prepared data while they are
read, such as distortions.
"""
