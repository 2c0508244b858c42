"""Tools of learners over hashed rows: features and their interactions, dense rows, growing buffers, first weights."""
