"""``python -m margin`` is the ``margin`` command."""

from margin.cli.app import main

if __name__ == "__main__":
    main()
