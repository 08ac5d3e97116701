#!/usr/bin/env python3
"""Prints the commands of a page that need an installed package: its blocks with the words `sh,installed`.

A block in a list is indented; the indentation of its fence is removed.
"""

import re
import sys

BLOCK = re.compile(r"^( *)```sh,installed\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


def main():
    page = sys.argv[1]
    with open(page, encoding="utf-8") as file:
        text = file.read()
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 1
        indentation = block[1]
        commands = block[2].replace("\n" + indentation, "\n").removeprefix(indentation)
        print(f"echo '### {page}:{line}'\n{commands}")


if __name__ == "__main__":
    main()
