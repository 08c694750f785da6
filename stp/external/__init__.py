"""Export windows for models outside this project, and check and import their predictions.

A window has the context frames that a model is given, and is followed by the frames to predict.
The package also scores videos that belong to no benchmark, with or without reference videos.
"""
