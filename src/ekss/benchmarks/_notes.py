"""Why a figure differs from the paper's by more than 5 points, where we know it.

A sentence is shown only where the difference is there; a difference without a
sentence is shown as not explained yet.
"""

from __future__ import annotations

NOT_EXPLAINED = "not explained yet."

NOTES: dict[tuple[str, str], str] = {
    ("hopkins", "ekss"): (
        "the paper's parameters are the most common ones of 155 sequences that "
        "were each tuned by the labels, and here they serve all sequences; tuned "
        "for each sequence the error is below the paper's."
    ),
    ("hopkins", "tsc"): (
        "not established; on the 4 K leading left singular vectors of the tracks "
        "instead of the tracks, q tuned for each sequence gives 5.1, but the "
        "paper says it did no preprocessing."
    ),
    ("hopkins", "ssc"): (
        "the paper's parameters are the most common ones of 155 sequences that "
        "were each tuned by the labels, and here they serve all sequences; tuned "
        "for each sequence the error is near the paper's."
    ),
    ("hopkins", "sscomp"): (
        "not established; on the 4 K leading left singular vectors of the tracks "
        "instead of the tracks k = 2 gives 22.9, but the paper says it did no "
        "preprocessing."
    ),
    ("hopkins", "ensc"): (
        "the paper's parameters are the most common ones of 155 sequences that "
        "were each tuned by the labels, and here they serve all sequences; tuned "
        "for each sequence it is still above the paper's, for a reason we did not "
        "find."
    ),
    ("yaleb", "ekss"): (
        "d = 2, as printed, does not reproduce with PCA members; members of "
        "dimension 5 to 25 come to the published figure, and with three components "
        "removed instead of two the error is lower."
    ),
    ("yaleb", "copkss"): (
        "the best of 20 trials, where the paper took the best of 1000."
    ),
    ("yaleb", "mkf"): (
        "d = 17, as printed, does not reproduce; with the dimension that the "
        "estimator finds itself the error is 43."
    ),
    ("yaleb", "ssc"): (
        "with the paper's alpha = 670 and rho = 0.1 the error is about 11 after "
        "one or two iterations and rises to 69 at convergence, so the published "
        "figure seems to come from coefficients that had not converged."
    ),
    ("yaleb", "sscomp"): (
        "the paper says it did not whiten for this method; its figure comes out "
        "on whitened data only, which are in the label-tuned sweep."
    ),
    ("yaleb", "ensc"): (
        "the paper says it did not whiten for this method; its figure comes out "
        "on whitened data only, which are in the label-tuned sweep."
    ),
    ("coil20", "ekss"): (
        "d = 2, as printed, does not reproduce with PCA members; d = 9 with twice "
        "as many candidates as classes does far better, also on pixels that are "
        "not whitened."
    ),
    ("coil20", "copkss"): (
        "the best of 20 trials, where the paper took the best of 1000."
    ),
    ("coil20", "tsc"): (
        "q = 3 does better than the paper's q = 4, and gives 28 to 35 with an "
        "eigensolver that misses copies of repeated eigenvalues, which may be why "
        "it was not chosen."
    ),
    ("coil20", "ssc"): (
        "the error is lower on pixels that are not whitened; on whitened ones it is 15."
    ),
    ("coil100", "ekss"): (
        "the sweep has twice as many candidates as classes; at the paper's "
        "parameters the figures agree."
    ),
    ("coil100", "kss"): (
        "d = 1 does better than the paper's d = 5, at which the figures agree."
    ),
    ("coil100", "mkf"): (
        "ours is lower; the paper gives neither the step size nor the number of passes."
    ),
    ("usps", "mkf"): (
        "ours is lower; the paper gives neither the step size nor the number of passes."
    ),
    ("mnist", "mkf"): (
        "ours is lower; the paper gives neither the step size nor the number of passes."
    ),
    ("coil100", "tsc"): (
        "ours is lower, not only at q = 3: 25 at the paper's q = 4; why was not "
        "established, but colours were turned to grey and reduced to 300 "
        "components by us."
    ),
    ("coil100", "ssc"): (
        "ours is lower although it stops before convergence; stopping early "
        "lowers the error on Yale B too."
    ),
    ("coil100", "sscomp"): (
        "not established; the scaling of coefficients matters (unit rows 50, all "
        "weights equal 65), and the paper does not give its own."
    ),
    ("coil100", "ensc"): (
        "ours is lower; why was not established, but colours were turned to grey "
        "and reduced to 300 components by us."
    ),
    ("usps", "ekss"): (
        "40 members by Coherence Pursuit, where the paper has 1000; members by "
        "warm power steps with d = 9 and 15 eigenvectors do better than the "
        "paper."
    ),
    ("usps", "kss"): ("the best of 20 trials, where the paper took the best of 1000."),
    ("usps", "copkss"): (
        "the best of 10 trials, where the paper took the best of 1000, of which "
        "it says that 17 were below 15.84."
    ),
    ("usps", "tsc"): (
        "ours is lower; why was not established, but the paper's USPS is a "
        "variant of the same digits."
    ),
    ("usps", "ssc"): (
        "SSC stops at 50 iterations, before convergence, and the paper's USPS is "
        "a variant of the same digits."
    ),
    ("usps", "sscomp"): (
        "two nonzeros do better than the paper's 29, at which the figures agree."
    ),
    ("usps", "ensc"): (
        "gamma = 50, as printed, does not reproduce; gamma = 2 does better than "
        "the paper. The paper's USPS is a variant of the same digits."
    ),
    ("mnist", "ekss"): (
        "40 members by Coherence Pursuit with 10 iterations, where the paper has "
        "1000 with 30; members by warm power steps come below the published "
        "figure at the same d."
    ),
    ("mnist", "copkss"): (
        "the best of 10 trials of at most 20 iterations, where the paper took the "
        "best of 1000."
    ),
    ("mnist", "ssc"): ("SSC stops at 50 iterations, before convergence."),
    ("mnist", "sscomp"): (
        "the scaling of coefficients decides: with all weights equal we saw 16 at "
        "the paper's k = 17, and the paper does not give its own."
    ),
}


def note(dataset: str, method: str) -> str:
    """Return the sentence on a data set and method."""
    return NOTES.get((dataset, method), NOT_EXPLAINED)
