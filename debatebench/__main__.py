"""`python -m debatebench`."""

from debatebench.cli import main

main()
