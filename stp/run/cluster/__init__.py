"""Jobs on a cluster: requests for resources, signals, attempts, and the driver."""
