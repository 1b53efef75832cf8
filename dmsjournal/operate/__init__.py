"""Consumers, prune, partitions, verify and status."""
