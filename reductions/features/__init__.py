"""Layers that show the layers below other features than an example has."""
