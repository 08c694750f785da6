"""Raw bytes -> prepared data: one reader for each dataset.

Own files of users have readers in `own`, tracks of people in `track_readers`.
"""
