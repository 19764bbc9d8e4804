"""`python -m cipher_nb.cli` is the same as `cipher-nb`."""

from cipher_nb.cli import main

main(prog_name="cipher-nb")
