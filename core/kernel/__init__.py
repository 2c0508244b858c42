"""Compiled kernels: their interface, the decorators that make them, and where their machine code is kept."""
