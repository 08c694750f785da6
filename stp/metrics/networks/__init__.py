"""Networks that metrics look through; their weights are files of the user."""
