#!/bin/sh
# Draws the PNG icons from the SVG ones, with rsvg-convert of Debian's librsvg2-bin.
set -eu
cd "$(dirname "$0")"
rsvg-convert -w 192 icon.svg -o icon-192.png
rsvg-convert -w 512 icon.svg -o icon-512.png
rsvg-convert -w 512 maskable.svg -o maskable-512.png
rsvg-convert -w 180 maskable.svg -o touch-180.png
rsvg-convert -w 96 badge.svg -o badge-96.png
