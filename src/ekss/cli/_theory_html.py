"""The page of guarantees as one HTML file that needs nothing from outside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from ekss.cli._theory_findings import HOLDS, OPEN, Finding, ordinal, percent
from ekss.cli._theory_page import WORDS, Page
from ekss.cli._theory_results import Certificate
from ekss.cli._theory_style import STYLE
from ekss.cli._theory_svg import gaps_picture, votes_picture
from ekss.cli._theory_words import number

_MOST_SHADED = 40
_MOST_POINTS = 6
_GOOD = {True: "good", False: "bad", None: "open"}


def page_html(page: Page) -> str:
    """Write the page: light and dark, printable, without links or scripts.

    Parameters
    ----------
    page : Page

    Returns
    -------
    str
        A whole HTML document.
    """
    title = escape(page.title)
    parts = [
        f"<h1>{title}</h1>",
        _facts(page),
        "<h2>In short</h2>",
        _answers(page),
        "<h2>Guarantees</h2>",
        _overview(page),
        _unmet(page),
        "<h2>Clusters and their subspaces</h2>",
        _clusters(page),
        "<h2>How well angles and votes separate the clusters</h2>",
        _pictures(page),
        "<h2>Worst points</h2>",
        _worst(page),
        "<h2>Every condition</h2>",
        *(_finding(finding) for finding in page.findings),
        "<h2>To know</h2>",
        f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in page.notes)}</ul>",
        "<h2>Words</h2>",
        _words(),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(parts)
        + "\n</main>\n</body>\n</html>\n"
    )


def _facts(page: Page) -> str:
    rows = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in page.facts
    )
    return f'<dl class="facts">{rows}</dl>'


def _answers(page: Page) -> str:
    rows = [
        (
            escape(line.method),
            escape(line.question),
            f'<span class="{_GOOD[line.good]}">{escape(line.answer)}</span>',
        )
        for line in page.answers
    ]
    return _table(("method", "question", "answer"), rows)


def _overview(page: Page) -> str:
    rows = [
        (
            escape(f.statement),
            escape(f.method),
            escape(f.title),
            _badge(f.status),
            escape(f.summary),
        )
        for f in page.findings
    ]
    return _table(("statement", "method", "what", "verdict", "why"), rows)


def _unmet(page: Page) -> str:
    if not page.unmet:
        return "<p>Every condition holds.</p>"
    rows = [
        (
            escape(where),
            escape(check.asked),
            f"{_coloured(check.comparison, 'bad')}<br>{escape(check.distance)}",
            escape(check.remedy),
        )
        for where, check in page.unmet
    ]
    headings = ("asked by", "what is asked", "here", "what would help")
    return (
        f"<h3>What fails, by how much, and what would help</h3>{_table(headings, rows)}"
    )


def _clusters(page: Page) -> str:
    rows = [
        (
            str(row.name),
            f"{row.size:,}",
            f"{row.dim} ({row.how})",
            percent(row.outside),
            f"{row.nearest}",
            number(row.affinity),
            f"{row.angle:.3g}°",
            str(row.pieces_tsc),
            str(row.pieces_votes),
        )
        for row in page.clusters
    ]
    headings = (
        "cluster",
        "points",
        "dimension",
        "energy outside",
        "closest cluster",
        "affinity",
        "smallest angle",
        "pieces in TSC's graph",
        "in EKSS-0's graph",
    )
    table = _table(headings, rows, kind="numbers")
    return f"{table}<p>{escape(page.closest)}.</p>{_affinities(page)}"


def _affinities(page: Page) -> str:
    """Table of affinities, shaded by value; left out where it would not fit."""
    names = page.assessment.subspaces.names
    if len(names) > _MOST_SHADED:
        return ""
    rows = []
    for k, name in enumerate(names):
        cells = []
        for m in range(len(names)):
            value = page.assessment.pairs.affinities[k, m]
            if k == m:
                cells.append("<td></td>")
                continue
            shade = f"background:rgb(var(--shade) / {0.85 * value:.2f})"
            cells.append(f'<td style="{shade}">{value:.2f}</td>')
        rows.append(f"<tr><th>{name}</th>{''.join(cells)}</tr>")
    head = "".join(f"<th>{name}</th>" for name in names)
    return (
        "<h3>Affinities between the subspaces</h3>"
        f'<div class="wide"><table class="shaded"><tr><th></th>{head}</tr>'
        f"{''.join(rows)}</table></div>"
    )


def _pictures(page: Page) -> str:
    a = page.assessment
    tsc = gaps_picture(a.tsc, "gap of |cos|")
    votes = gaps_picture(a.votes, "gap of f")
    curve = votes_picture(a.curve, a.votes.tau)
    q = a.situation.n_neighbors
    explained = (
        f"The gap of a point is half of what the {ordinal(q)} nearest point of its own "
        "cluster is more similar than the nearest point of any other cluster. A curve "
        "that stays above the dashed line means: no false connections, guaranteed."
    )
    votes_text = (
        "EKSS-0: votes of some pairs of points "
        '(<span class="key same">●</span> of one cluster, '
        '<span class="key other">●</span> of two) '
        f"around f; the band is f ± tau, tau = {number(a.votes.tau)}."
    )
    figures = (
        (tsc, f"TSC: {escape(_margin(a.tsc))}"),
        (votes, f"EKSS-0: {escape(_margin(a.votes))}"),
        (curve, votes_text),
    )
    shown = "".join(
        f"<figure>{picture}<figcaption>{text}</figcaption></figure>"
        for picture, text in figures
    )
    return f'<p>{explained}</p><div class="figures">{shown}</div>'


def _margin(certificate: Certificate) -> str:
    return (
        f"phi_q = {number(certificate.phi)}, tau = {number(certificate.tau)}, margin "
        f"{number(certificate.margin)}; {percent(certificate.share)} of the points are "
        "above tau."
    )


def _worst(page: Page) -> str:
    a = page.assessment
    headings = (
        "point",
        "its cluster",
        f"|cos| to {ordinal(a.situation.n_neighbors)} nearest of own",
        "|cos| to nearest of another",
        "that point",
        "its cluster",
        "gap",
    )
    parts = []
    methods = (("By angle, as TSC", a.tsc), ("By f of EKSS-0", a.votes))
    for method, certificate in methods:
        rows = [
            (
                escape(page.named(p.index)),
                str(p.cluster),
                f"{p.near:.4f}",
                f"{p.far:.4f}",
                escape(page.named(p.rival)),
                str(p.rival_cluster),
                number(p.gap),
            )
            for p in certificate.worst[:_MOST_POINTS]
        ]
        parts.append(f"<h3>{method}</h3>{_table(headings, rows, kind='numbers')}")
    return "".join(parts)


def _finding(finding: Finding) -> str:
    rows = [
        (
            escape(check.asked),
            _coloured(check.comparison, _GOOD[check.holds]),
            escape(check.remedy),
        )
        for check in finding.checks
    ]
    terms = ""
    if finding.terms:
        listed = "; ".join(
            f"{escape(name)} {number(value)}" for name, value in finding.terms.items()
        )
        unless = "" if finding.failure is not None else " (mean nothing here)"
        terms = f"<p>Terms of the failure probability{unless}: {listed}.</p>"
    return (
        f'<section class="finding"><h3>{escape(finding.statement)}, '
        f"{escape(finding.method)}: {escape(finding.title)} {_badge(finding.status)}"
        f"</h3><p>{escape(finding.summary[:1].upper() + finding.summary[1:])}.</p>"
        f"{_table(('what is asked', 'here', 'what would help'), rows)}{terms}</section>"
    )


def _words() -> str:
    rows = "".join(
        f"<dt>{escape(word)}</dt><dd>{escape(text)}</dd>" for word, text in WORDS
    )
    return f'<dl class="words">{rows}</dl>'


def _coloured(text: str, kind: str) -> str:
    return f'<span class="{kind} nowrap">{escape(text)}</span>'


def _badge(status: str) -> str:
    kind = {HOLDS: "good", OPEN: "open"}.get(status, "bad")
    return f'<span class="badge {kind}">{escape(status)}</span>'


def _table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "text"
) -> str:
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(
        f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows
    )
    return (
        f'<div class="wide"><table class="{kind}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
