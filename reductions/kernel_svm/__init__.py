"""A support vector machine with a kernel, learned online: LASVM."""
