"""Models that live elsewhere: windows go out, predictions come in and are checked.

It also scores videos that belong to no benchmark, against references or without them.
"""
