"""One reader per dataset: raw format to prepared data."""
