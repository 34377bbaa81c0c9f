"""Numbers and lists as people write them; imports nothing of the package."""

import math
from collections.abc import Sequence

_FLOOR = 1e-12  # written as 0


def number(value: float) -> str:
    """Write a number with three significant digits and a comma between thousands.

    Examples
    --------
    >>> number(59700.0), number(0.012345), number(6.5e16), number(3.0)
    ('59,700', '0.0123', '6.5 × 10^16', '3')
    """
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    if abs(value) < _FLOOR:
        return "0"
    if abs(value) >= 1e7 or abs(value) < 1e-4:
        digits, exponent = f"{value:.2e}".split("e")
        return f"{digits.rstrip('0').rstrip('.')} \u00d7 10^{int(exponent)}"
    if abs(value) >= 1000 or value == round(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"


def percent(share: float) -> str:
    """Write a share; neither 0 % nor 100 % unless it is exactly that."""
    if share < _FLOOR:
        return "0 %"
    if share < 0.001:
        return "under 0.1 %"
    if 0.999 < share < 1:
        return "over 99.9 %"
    return f"{100 * share:.3g} %"


def ordinal(n: int) -> str:
    """Write 1st, 2nd, 3rd, 4th, 11th.

    Examples
    --------
    >>> [ordinal(n) for n in (1, 2, 3, 9, 12, 21)]
    ['1st', '2nd', '3rd', '9th', '12th', '21st']
    """
    teen = n % 100 in (11, 12, 13)
    return f"{n}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"


def listed(words: Sequence[str]) -> str:
    """Write "a", "a and b" or "a, b and c".

    Examples
    --------
    >>> listed(["4"]), listed(["4", "5", "8"])
    ('4', '4, 5 and 8')
    """
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"
