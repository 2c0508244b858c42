"""What every model of online EM builds on."""
