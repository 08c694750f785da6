"""Facts that papers print of their benchmarks, each beside what is here.

The file of a suite declares such a table; a module here says what ours is.
"""
