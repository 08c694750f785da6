"""Export windows for models outside this project, and check and import their predictions.

The package also scores videos that belong to no benchmark, with or without reference videos.
"""
