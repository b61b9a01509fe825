"""The whole corpus of hostile calls, of which a GROUP is run: GROUP FIRST.

The groups come from the corpus modules beside this one; harness.py judges each case.
"""

from tests.isolated import (
    corpus_delta,
    corpus_history,
    corpus_hooks,
    corpus_index,
    corpus_kinds,
    corpus_masks,
    corpus_segment_hooks,
    corpus_segments,
    corpus_sizes,
    corpus_sparse,
    corpus_sparse_hooks,
    corpus_targets,
    corpus_values,
    corpus_zeros,
    harness,
)

GROUPS = {
    **corpus_index.GROUPS,
    **corpus_kinds.GROUPS,
    **corpus_targets.GROUPS,
    **corpus_values.GROUPS,
    **corpus_sizes.GROUPS,
    **corpus_hooks.GROUPS,
    **corpus_history.GROUPS,
    **corpus_masks.GROUPS,
    **corpus_segments.GROUPS,
    **corpus_segment_hooks.GROUPS,
    **corpus_sparse.GROUPS,
    **corpus_sparse_hooks.GROUPS,
    **corpus_zeros.GROUPS,
    **corpus_delta.GROUPS,
}

if __name__ == "__main__":
    harness.run_group(GROUPS)
