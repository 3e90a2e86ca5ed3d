"""Bundles of captured hits: reading them, and repeating their ops."""
