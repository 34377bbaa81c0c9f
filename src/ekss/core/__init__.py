"""Pure functions on arrays: bases, the one assign/update loop, ensemble members.

Conventions, once for the whole package:

- rows are points: ``X`` has shape (n_samples, n_features);
- a basis ``U`` has shape (n_features, dim) with orthonormal columns, and a set
  of bases has shape (n_subspaces, n_features, dim);
- the paper's letters are used inside: N points in D dimensions, K subspaces of
  dimension d, B members, T iterations, q neighbours kept.
"""
