"""What is between a job and its cluster: requests, signals, attempts, and the driver."""
