"""Why a figure differs from the paper's by more than 5 points, where we know it.

A sentence is shown only where the difference is there; a difference without a
sentence is shown as not explained yet.
"""

from __future__ import annotations

NOT_EXPLAINED = "not explained yet."

NOTES: dict[tuple[str, str], str] = {
    ("hopkins", "tsc"): (
        "the paper's q is the most common one of 155 tuned sequences; one q for all "
        "is worse, and image coordinates have a large common part that inner "
        "products see first."
    ),
    ("hopkins", "ssc"): (
        "the paper's rho and alpha are the most common ones of 155 tuned sequences; "
        "used for all of them they are far worse than when each sequence has its "
        "own."
    ),
    ("hopkins", "ensc"): (
        "the paper's parameters are the most common ones of 155 tuned sequences; no "
        "setting of our sweep comes near, and the cause was not found."
    ),
    ("hopkins", "sscomp"): (
        "sequences have few points, and which of them matching pursuit takes first "
        "depends on the scaling of the tracks, which the paper does not give."
    ),
    ("yaleb", "ekss"): (
        "d = 2, as printed, does not reproduce with PCA members; members of "
        "dimension 5 to 25 reach the published figure."
    ),
    ("yaleb", "kss"): ("the best of 40 trials, where the paper took the best of 1000."),
    ("yaleb", "copkss"): (
        "the best of 20 trials, where the paper took the best of 1000."
    ),
    ("yaleb", "mkf"): (
        "d = 17, as printed, gives 58 at any number of trials we tried; with the "
        "dimension that the estimator finds itself the error is near the paper's."
    ),
    ("coil20", "ekss"): (
        "d = 2, as printed, does not reproduce with PCA members; larger dimensions "
        "and more candidates than classes do far better."
    ),
    ("coil20", "kss"): (
        "the best of 40 trials, where the paper took the best of 1000."
    ),
    ("coil20", "copkss"): (
        "the best of 20 trials, where the paper took the best of 1000."
    ),
    ("coil20", "ssc"): (
        "on pixels that are not whitened the error is lower than the paper's; on "
        "whitened ones it is near."
    ),
    ("coil20", "ensc"): ("the sweep includes pixels that are not whitened."),
    ("coil100", "ekss"): (
        "ours is lower; the sweep has more candidates than classes, and colours "
        "were turned to grey by us."
    ),
    ("coil100", "kss"): (
        "the sweep has d = 1, which suits 72 views of one object better than the "
        "paper's d = 5."
    ),
    ("coil100", "copkss"): (
        "the best of 10 trials, where the paper took the best of 1000."
    ),
    ("coil100", "mkf"): (
        "ours is lower; the paper gives neither the step size nor the number of passes."
    ),
    ("coil100", "tsc"): (
        "ours is lower; the same graph solved without care for repeated eigenvalues "
        "loses more than that."
    ),
    ("coil100", "ssc"): (
        "ours is lower although it stops before convergence, as early stopping does "
        "on Yale B too."
    ),
    ("coil100", "sscomp"): (
        "the scaling of coefficients decides: with all weights equal we saw 65, "
        "with unit rows 50; the paper does not say what it did."
    ),
    ("coil100", "ensc"): (
        "ours is lower; coefficients are used as they are, without scaling."
    ),
    ("usps", "ekss"): (
        "at the paper's d and q the cut merges 3 with 5 and 4 with 9; among cuts of "
        "the same kind of votes there are far better ones."
    ),
    ("usps", "kss"): ("the best of 20 trials, where the paper took the best of 1000."),
    ("usps", "copkss"): (
        "the best of 10 trials, where the paper took the best of 1000, of which it "
        "says that 17 were below 15.84."
    ),
    ("usps", "mkf"): (
        "ours is lower; the paper gives neither the step size nor the number of passes."
    ),
    ("usps", "tsc"): (
        "ours is lower; the paper's USPS is a grey variant of the same digits."
    ),
    ("usps", "ssc"): (
        "SSC stops at 50 iterations, before convergence, and the paper's USPS is a "
        "grey variant of the same digits."
    ),
    ("usps", "sscomp"): ("fewer nonzeros than the paper's 29 are better."),
    ("usps", "ensc"): (
        "the cut falls into one of several near-optima that merge classes; the "
        "paper's USPS is a grey variant of the same digits."
    ),
    ("mnist", "ekss"): (
        "40 members by Coherence Pursuit with 10 iterations, where the paper has "
        "1000 with 30; members by PCA reach the published figure at the same d."
    ),
    ("mnist", "copkss"): (
        "the best of 10 trials of 20 iterations, where the paper took the best of 1000."
    ),
    ("mnist", "mkf"): (
        "ours is lower; the paper gives neither the step size nor the number of passes."
    ),
    ("mnist", "tsc"): (
        "other values of q than the paper's avoid the merge of two digits."
    ),
    ("mnist", "ssc"): ("SSC stops at 50 iterations, before convergence."),
    ("mnist", "sscomp"): (
        "with k = 17 most of the chosen points are of other digits; the scaling of "
        "coefficients decides, and with all weights equal we saw 16."
    ),
    ("mnist", "ensc"): (
        "the cut falls into one of two near-optima, with and without a merge of two "
        "digits, as gamma and centring change."
    ),
    ("yaleb", "ssc"): (
        "with the paper's alpha = 670 and rho = 0.1 the error is about 11 after one "
        "or two iterations and rises to 69 at convergence, so the published figure "
        "seems to come from coefficients that had not converged."
    ),
    ("yaleb", "sscomp"): (
        "the paper says it did not whiten for this method; its figure comes out on "
        "whitened data only, which are in the label-tuned sweep."
    ),
    ("yaleb", "ensc"): (
        "the paper says it did not whiten for this method; its figure comes out on "
        "whitened data only, which are in the label-tuned sweep."
    ),
}


def note(dataset: str, method: str) -> str:
    """Return the sentence on a data set and method."""
    return NOTES.get((dataset, method), NOT_EXPLAINED)
