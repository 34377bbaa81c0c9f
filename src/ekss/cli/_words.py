"""Values that the command line writes as words: ranges, sizes, lists."""

from __future__ import annotations

import re

from ekss.cli._methods import Method


def clusters_of(text: str) -> int | str:
    """Read -k: a positive integer, or "auto"."""
    if text == "auto":
        return text
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise ValueError(
            f"-k {text} is no number of clusters; pass one, such as -k 3, or -k auto"
        )
    if int(text) < 1:
        raise ValueError(f"-k {text} is below 1; choose at least 1")
    return int(text)


def span_of(option: str, text: str | None) -> int | tuple[int, int] | None:
    """Read an integer such as 3, or a range such as 2-5."""
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]+)(?:-([0-9]+))?", text)
    if match is None:
        raise ValueError(
            f"--{option} {text} is no number; write one such as 3, or a range such as "
            "2-5"
        )
    low, high = match[1], match[2]
    if int(low) < 1:
        raise ValueError(f"--{option} {text} begins below 1; choose at least 1")
    return int(low) if high is None else (int(low), int(high))


def count_of(option: str, number: int | None) -> int | None:
    """Refuse a number below 1."""
    if number is not None and number < 1:
        raise ValueError(f"--{option} {number} is below 1; choose at least 1")
    return number


def members_of(text: str | None) -> int | str | None:
    """Read --members: a positive integer, or "auto"."""
    if text is None or text == "auto":
        return text
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise ValueError(
            f"--members {text} is no number of members; pass one, such as 200, or auto"
        )
    return count_of("members", int(text))


def removed_of(text: str | None) -> int | str | None:
    """Read --remove: a number of components, which may be 0, or "auto"."""
    if text is None or text == "auto":
        return text
    if not re.fullmatch(r"[0-9]+", text):
        raise ValueError(
            f"--remove {text} is no number of components; pass one, such as 1, or auto"
        )
    return int(text)


def size_of(text: str | None) -> tuple[int, int] | None:
    """Read height x width, such as 32x24."""
    if text is None:
        return None
    match = re.fullmatch(r"([1-9][0-9]*)[xX]([1-9][0-9]*)", text)
    if match is None:
        raise ValueError(
            f"--image-size {text} is not height x width in pixels; write it as 32x24"
        )
    return int(match[1]), int(match[2])


def methods_of(text: str) -> tuple[str, ...]:
    """Read a comma list of methods, or "all"; keep the order of the user."""
    known = [method.value for method in Method]
    if text == "all":
        return tuple(known)
    names = list(dict.fromkeys(word.strip() for word in text.split(",")))
    for name in names:
        if name not in known:
            raise ValueError(
                f"--methods has {name!r}; choose from {', '.join(known)}, or all"
            )
    return tuple(names)
