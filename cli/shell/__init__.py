"""What a shell shows of the commands: their help, and what it offers while one types."""
