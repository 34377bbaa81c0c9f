"""A picture of a report, and what several of them share."""

from __future__ import annotations

from dataclasses import dataclass

from ekss.report._facts import Facts
from ekss.report._svg import Frame, line, plain, text

SIDE = 420.0


@dataclass(frozen=True)
class Picture:
    """A drawing and its words.

    Attributes
    ----------
    key : str
        Name for links.
    title : str
        What it shows.
    drawing : str
        SVG markup; all words in it are escaped.
    reading : str
        How to read it.
    """

    key: str
    title: str
    drawing: str
    reading: str


def grid(frame: Frame, across: list[float], along: list[float]) -> list[str]:
    """Faint lines with their values: across at values of y, along at values of x."""
    body = []
    for value in across:
        y = frame.y(value)
        body.append(line(frame.left, y, frame.right, y, "grid"))
        body.append(text(frame.left - 6, y + 4, plain(value), anchor="end"))
    for value in along:
        x = frame.x(value)
        body.append(line(x, frame.top, x, frame.bottom, "grid"))
        body.append(text(x, frame.bottom + 16, plain(value), anchor="middle"))
    return body


def rule(frame: Frame) -> str:
    return line(frame.left, frame.bottom, frame.right, frame.bottom, "rule")


def cross_words(facts: Facts) -> str:
    if facts.scores is None or not facts.scores.wrong.any():
        return ""
    return " Crosses are points whose true label says otherwise."
