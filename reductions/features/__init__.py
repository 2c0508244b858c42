"""Layers that give the layers below them other features than the example has."""
