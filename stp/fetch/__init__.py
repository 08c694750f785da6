"""Raw bytes: downloads, archives, verification and locks, weights of networks.

Generators of stand-ins for official data are one file each in `generators`.
"""
