"""The command `hirc`: replaces this process by the program that this package carries."""
import os
import sys

from .command import binary, environment


def main() -> None:
    try:
        os.execve(binary(), ["hirc", *sys.argv[1:]], environment())
    except OSError as error:
        sys.exit(f"hirc: {error}")


if __name__ == "__main__":
    main()
