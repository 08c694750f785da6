"""Raw bytes: downloads, archives, verification and locks, weights of networks.

Generators of stand-ins (`stp.datasets`) share the scenes and file formats that are made here.
"""
