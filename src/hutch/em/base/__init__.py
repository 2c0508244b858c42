"""The base of every model of online EM."""
