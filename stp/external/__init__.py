"""Export windows to models outside this project, and check and import their predictions.

The package also scores videos of no benchmark, with or without reference videos.
"""
