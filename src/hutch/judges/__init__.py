"""What judges are worth: reports on the logs of evaluations."""
