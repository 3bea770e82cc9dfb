"""`python -m genperf`."""

from genperf.cli import main

if __name__ == "__main__":
    main()
