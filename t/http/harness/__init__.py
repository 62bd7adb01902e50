"""Drives a real nginx: start and signals, raw clients, streams, and the programs it talks to."""
