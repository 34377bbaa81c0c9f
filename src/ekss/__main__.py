"""Run the command as ``python -m ekss``."""

from ekss.cli import main

main()
