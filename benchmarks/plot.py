"""Small line charts as SVG: ratios over sizes, both on logarithmic scales.

Written here because a plotting library would be a large guest for a few lines. Charts
live beside the design notes that speak of them.
"""

from math import log10
from typing import NamedTuple

WIDTH, HEIGHT = 330, 300
LEFT, TOP, RIGHT, BOTTOM = 44, 30, 12, 40
COLOURS = ("#0072b2", "#56b4e9", "#009e73", "#b59f00", "#e69f00", "#d55e00", "#cc79a7")
STYLE = (
    "text{font:11px sans-serif;fill:#333}.axis{stroke:#999;fill:none}"
    ".grid{stroke:#e4e4e4}.one{stroke:#333;stroke-dasharray:4 3}"
    ".curve{fill:none;stroke-width:1.6}"
)


class Panel(NamedTuple):
    """One chart: curves by name, each a dict from size to ratio."""

    title: str
    curves: dict[str, dict[float, float]]


def decades(values):
    """The powers of ten that enclose all values, as exponents."""
    low = int(log10(min(values)) // 1)
    high = -int(-log10(max(values)) // 1)
    return low, max(high, low + 1)


def scales(panels):
    """Functions from a size and a ratio to a place inside a panel, and both ranges."""
    sizes = [x for panel in panels for curve in panel.curves.values() for x in curve]
    ratios = [y for p in panels for curve in p.curves.values() for y in curve.values()]
    wide, high = decades(sizes), decades([*ratios, 1.0])
    inner_width, inner_height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def across(size):
        return LEFT + inner_width * (log10(size) - wide[0]) / (wide[1] - wide[0])

    def up(ratio):
        share = (log10(ratio) - high[0]) / (high[1] - high[0])
        return HEIGHT - BOTTOM - inner_height * share

    return across, up, wide, high


def line(x1, y1, x2, y2, kind):
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line class="{kind}" {ends}/>'


def words(x, y, text, anchor="middle"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'


def power(exponent):
    return f"1e{exponent}" if exponent > 3 else f"{10.0**exponent:g}"


def draw_panel(panel, across, up, wide, high):
    """The lines of one panel: grid, labels, curves."""
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    parts = [words((LEFT + right) / 2, 16, panel.title)]
    for exponent in range(high[0], high[1] + 1):
        y = up(10.0**exponent)
        parts.append(line(LEFT, y, right, y, "one" if exponent == 0 else "grid"))
        parts.append(words(LEFT - 5, y + 4, power(exponent), "end"))
    for exponent in range(wide[0], wide[1] + 1):
        x = across(10.0**exponent)
        parts.append(line(x, TOP, x, bottom, "grid"))
        if (exponent - wide[0]) % 2 == 0:
            parts.append(words(x, bottom + 15, power(exponent)))
    for curve, colour in zip(panel.curves.values(), COLOURS, strict=False):
        points = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in curve.items())
        parts.append(f'<polyline class="curve" stroke="{colour}" points="{points}"/>')
    return parts


def svg(panels, caption):
    """A row of panels with one legend, as the text of an SVG file."""
    across, up, wide, high = scales(panels)
    total, height = WIDTH * len(panels), HEIGHT + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{height}"'
        f' viewBox="0 0 {total} {height}">',
        f'<style>{STYLE}</style><rect width="100%" height="100%" fill="#fff"/>',
    ]
    for number, panel in enumerate(panels):
        parts.append(f'<g transform="translate({number * WIDTH})">')
        parts += draw_panel(panel, across, up, wide, high)
        parts.append("</g>")
    parts.append(words(total / 2, HEIGHT - 8, caption))
    names = list(panels[0].curves)
    step = total / (len(names) + 1)
    for number, (name, colour) in enumerate(zip(names, COLOURS, strict=False)):
        x = step * (number + 0.5)
        parts.append(
            f'<line stroke="{colour}" stroke-width="3" x1="{x:.0f}" x2="{x + 18:.0f}"'
            f' y1="{HEIGHT + 10}" y2="{HEIGHT + 10}"/>'
        )
        parts.append(words(x + 23, HEIGHT + 14, name, "start"))
    return "\n".join([*parts, "</svg>"]) + "\n"
