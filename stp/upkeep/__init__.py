"""Maintain the store: verify, explain why artefacts are made again, delete garbage, share.

The package also makes projects of users (`stp init`) and schemas of the configuration.
"""
