"""The command line: one module for each group of verbs.

A verb reads its arguments, calls one of the other rooms and prints; it computes nothing itself.
"""
