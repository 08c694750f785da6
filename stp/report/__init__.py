"""The report: one page with the data, charts and pictures of a results store."""
