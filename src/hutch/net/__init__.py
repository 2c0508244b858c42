"""Servers on a socket: HTTP applications and lines, under limits."""
