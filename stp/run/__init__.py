"""What stands around the core of a stage: runner, progress, status, cluster, costs."""
