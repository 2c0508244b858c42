"""Crowds of people and judges: judges predict people's labels, people are the crowd."""
