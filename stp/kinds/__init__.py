"""What a kind of sample needs of each stage: one file for each kind, names and numbers only.

Whatever depends on the kind asks an attribute of `Kind`; nothing outside this room compares names
of kinds. A new kind is one more file.
"""
