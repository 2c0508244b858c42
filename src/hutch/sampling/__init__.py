"""Samples with known chances, for all commands that ask people: `label`, `estimate`, `active`."""
