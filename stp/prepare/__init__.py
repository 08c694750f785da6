"""Prepare raw files: functions that the readers of datasets (`stp.datasets`) share.

Readers of users' own files are in `own`, readers of tracks of people in `track_readers`.
"""
