"""Models, one file each; chosen by the name of the module."""
