"""Layers that declare their state and their loss, and leave records, addresses and files to the chain."""
