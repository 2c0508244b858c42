"""The worth of judges: reports on the logs of evaluations."""
