"""Raw bytes -> prepared data: what the readers of raw layouts (`stp.datasets`) share.

Own files of users have readers in `own`, tracks of people in `track_readers`.
"""
