"""Tables: rows of results as grids for people, and as files."""
