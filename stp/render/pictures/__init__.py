"""Pictures of clips and of people: strips, movies, trajectories."""
