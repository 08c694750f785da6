"""Forecast models of frames, one module each, and the building blocks that they share.

A model is a class `Model` that maps context frames and a horizon to a forecast. It is not
registered in code: an entry `config/models/<name>.yaml` names its module.
"""
