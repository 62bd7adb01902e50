"""Drives a real nginx: starts and signals it, and provides raw clients, streams and peer
programs."""
