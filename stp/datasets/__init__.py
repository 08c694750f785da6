"""One folder for each raw layout: `reader.py` prepares it, `generator.py` makes up stand-ins.

Leaves: other rooms find them by the names that the configuration gives, and import none.
"""
