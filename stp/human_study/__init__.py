"""The human preference study: a blinded questionnaire, and what raters answered."""
