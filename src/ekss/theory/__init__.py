"""The paper's recovery guarantees as functions; each cites its statement.

Everything here takes numbers or arrays, never estimators, and is pure.
"""

from ekss.theory._bounds import (
    bounded_affinity_failure,
    disjoint_failure,
    fixed_missing_failure,
    missing_failure,
    noisy_failure,
    reduced_failure,
)
from ekss.theory._coclustering import (
    Coclustering,
    coclustering_function,
    coclustering_probability,
)
from ekss.theory._conditions import (
    Condition,
    Guarantee,
    cap_radius,
    connectedness_conditions,
    connectedness_constant,
    connectedness_failure,
    largest_affinity,
    noise_condition,
    projection_dimension,
)
from ekss.theory._constants import (
    deviation_failure,
    disjoint_rate,
    inner_product_probability,
    members_needed,
    separation_constant_disjoint,
    separation_constant_noisy,
)
from ekss.theory._missing import MissingRatio, missing_ratio
from ekss.theory._separation import (
    AngularSeparation,
    MonotoneFit,
    NfcCertificate,
    angular_separation,
    cluster_components,
    deviation,
    monotone_fit,
    nfc_certificate,
)

__all__ = [
    "AngularSeparation",
    "Coclustering",
    "Condition",
    "Guarantee",
    "MissingRatio",
    "MonotoneFit",
    "NfcCertificate",
    "angular_separation",
    "bounded_affinity_failure",
    "cap_radius",
    "cluster_components",
    "coclustering_function",
    "coclustering_probability",
    "connectedness_conditions",
    "connectedness_constant",
    "connectedness_failure",
    "deviation",
    "deviation_failure",
    "disjoint_failure",
    "disjoint_rate",
    "fixed_missing_failure",
    "inner_product_probability",
    "largest_affinity",
    "members_needed",
    "missing_failure",
    "missing_ratio",
    "monotone_fit",
    "nfc_certificate",
    "noise_condition",
    "noisy_failure",
    "projection_dimension",
    "reduced_failure",
    "separation_constant_disjoint",
    "separation_constant_noisy",
]
