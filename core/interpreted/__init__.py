"""Kernels run by CPython instead of machine code, for a debugger, `print`, coverage and tracebacks with lines."""
