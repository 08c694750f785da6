"""What is forecast, and what that asks of each stage: one class a task, names and numbers only.

Whatever depends on the task asks an attribute or a method of `stp.tasks.task.Task`; nothing outside
this room compares names of tasks. A new task is one more file.
"""
