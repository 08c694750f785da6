"""Run studies with people: blinded questionnaires, and tables of the answers.

Raters choose the best of several predictions, compare a pair of videos, or rate a single video.
They do not learn which model made which video.
"""
