"""Ensemble K-subspaces as a chain of values; see docs/architecture.md."""
