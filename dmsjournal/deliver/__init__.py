"""Delivery: a feed to a receiver of webhooks, or to rotating files, from a registered consumer's place on.

Source: docs/operator/deliver.md.
"""
