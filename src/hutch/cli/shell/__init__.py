"""Between a shell and the commands: how words are read and completed, how help looks, what a process ends with."""
