"""Models in service: HTTP and Vowpal Wabbit's lines over TCP, durable, one writer in order."""
