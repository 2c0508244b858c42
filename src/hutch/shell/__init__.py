"""Between a shell and the commands: parsing and completion of words, layout of help, exit of a process."""
