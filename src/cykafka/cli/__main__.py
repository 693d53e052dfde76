"""``python -m cykafka.cli``."""

from cykafka.cli import main

main()
