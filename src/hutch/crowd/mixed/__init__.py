"""Crowds of people and judges: judges predict what a person would say, people are the crowd."""
