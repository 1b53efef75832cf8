"""What README's figures came from, runnable, both sides in one run: `python -m benchmarks --help`."""
