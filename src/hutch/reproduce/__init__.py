"""The experiments of the sources, and the data they are simulated on."""
