"""Tasks, the kinds of forecasts: one class for each, with names and numbers only.

Code whose behaviour depends on the task uses attributes or methods of `stp.tasks.task.Task`;
no code outside this package compares names of tasks. A new task is one more file.
"""
