"""The calls of Azure Personalizer, for programs that were written for it."""
