"""The parts every layer shares: parser, batch, weight table, kernel interface, chain, losses, model file."""
