"""Studies with people: blinded questionnaires, and tables of the answers.

An item of a questionnaire asks for the best of several predictions, compares a pair of videos, or
has a single video rated.
"""
