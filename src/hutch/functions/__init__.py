"""The functions of `import hutch`: frames or files in, results that read like the terminal out."""
