"""Forecast models of frames, one file each, and the few pieces that they share.

A model is a class `Model` that takes context frames and a horizon; nothing registers it, an entry
`config/models/<name>.yaml` names it.
"""
