"""Labels of workers: from files and tables to arrays."""
