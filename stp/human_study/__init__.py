"""Studies with people: blinded questionnaires, and tables of the answers.

Raters choose the best of several predictions, or compare pairs of videos.
"""
