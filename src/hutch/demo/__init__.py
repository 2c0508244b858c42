"""Small files as people have them, and the commands that answer the question they have."""
