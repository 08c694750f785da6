"""Tasks: what a model predicts. There are frames, paths of people, and ratings of videos.

A task is a class that names the modules of each stage, such as training, and has the facts by which
tasks differ. Code whose behaviour depends on the task uses attributes or methods of its base class,
`stp.tasks.task.Task`; no code outside this package compares names of tasks. A new task is one more
file.
"""
