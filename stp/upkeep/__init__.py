"""Looking after the store: how it stands, why work is repeated, cleaning up, sharing.

Projects of users (`stp init`) and schemas of the configuration are made here, too.
"""
