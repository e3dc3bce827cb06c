"""What stands between a running tool and the rest of the machine: addresses, paths, processes, secrets, JSON."""
