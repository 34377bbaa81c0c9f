"""The ``ekss`` command: parses, calls, shows. The only layer that prints."""

from ekss.cli._app import app, main

__all__ = ["app", "main"]
