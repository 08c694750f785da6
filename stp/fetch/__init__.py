"""Raw files: downloads, archives, verification, lock files, and weights of networks.

The generators of stand-ins (`stp.datasets`) share the scenes and file formats of this package.
"""
