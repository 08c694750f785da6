"""Tables: make rows of results, lay them out for readers, and write them as files."""
