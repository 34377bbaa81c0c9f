"""All pictures of a report."""

from __future__ import annotations

from ekss.report._counts import draw_counts
from ekss.report._curves import draw_agreement, draw_eigenvalues
from ekss.report._facts import Facts
from ekss.report._heatmaps import draw_angles, draw_confusion, draw_subspaces
from ekss.report._maps import draw_layout, draw_tracks
from ekss.report._matrix import draw_matrix
from ekss.report._picture import Picture


def pictures_of(facts: Facts) -> dict[str, Picture]:
    """Draw every picture that the facts allow, by its key."""
    drawn = (
        draw_layout(facts),
        draw_matrix(facts),
        draw_eigenvalues(facts),
        draw_counts(facts),
        draw_agreement(facts),
        draw_subspaces(facts),
        draw_angles(facts),
        draw_confusion(facts),
        draw_tracks(facts),
    )
    return {picture.key: picture for picture in drawn if picture is not None}
