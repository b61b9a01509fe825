"""Changes and histograms to TensorBoard, without TensorFlow.

A writer is anything with `add_scalar` and `add_histogram_raw`, such as SummaryWriter of
torch.utils.tensorboard and of tensorboardX: nothing is imported for it. A writer of
tf.summary gets the second kind of histogram instead. The counts are pyscatter's own, so
that no writer bins the elements again.
"""

import sys

import numpy as np

import pyscatter as ps

__all__ = ["histogram_v2", "log_change", "log_histogram"]

LEFT_OUT = ("first", "step")


def log_change(writer, stats, step, *, tag="change", fields=None):
    """Write the numbers of a record, and its histogram if it has one.

    Parameters
    ----------
    writer : object
        With add_scalar and add_histogram_raw, or a writer of tf.summary.
    stats : ChangeStats
        From `change_stats` or a `ChangeTracker`.
    step : int
        The position on TensorBoard's axis.
    tag : str, optional
        Goes before each name, with a slash.
    fields : sequence of str, optional
        Which numbers are written; default: all.

    Returns
    -------
    None

    Raises
    ------
    TypeError
        `writer` is no writer.
    AttributeError
        A name in `fields` is none of the record's.

    Notes
    -----
    Fields that are NaN on a first record are not written; a NaN on a later one is news,
    and is. *Determinism*: the numbers are those of the record. *Cost*: a line of the
    file for each field.

    See Also
    --------
    log_histogram, pyscatter.ChangeStats
    """
    scalar, _ = methods_of(writer)
    for name in stats.as_dict() if fields is None else fields:
        value = getattr(stats, name)
        if name in LEFT_OUT or isinstance(value, (bool, list, tuple, type(None))):
            continue
        if stats.first and value != value:
            continue
        scalar(f"{tag}/{name}", value, step)
    if "hist" in dir(stats) and getattr(stats, "hist", None) is not None:
        log_histogram(writer, f"{tag}/hist", stats.hist, step)


def log_histogram(writer, tag, x, step, *, kind=None):
    """Write the histogram of an array.

    Parameters
    ----------
    writer : object
        With add_histogram_raw, or a writer of tf.summary.
    tag : str
        The name.
    x : array_like or Histogram
        The elements, or what has been counted.
    step : int
        The position on TensorBoard's axis.
    kind : str or int, optional
        The `bins` of `pyscatter.histogram`; default: "tb1", TensorBoard's exponential
        limits, or "tb2" for tf.summary.

    Returns
    -------
    None

    Raises
    ------
    TypeError
        `writer` is no writer; elements are no real numbers.
    ValueError
        An unknown kind.

    Notes
    -----
    *Determinism*: the counts are exact. *Cost*: one pass over the elements.

    See Also
    --------
    pyscatter.histogram, histogram_v2
    """
    _, histogram = methods_of(writer)
    histogram(tag, x, step, kind)


def histogram_v2(x, bins=30):
    """Return the buckets of TensorBoard's second kind of histogram.

    Parameters
    ----------
    x : array_like
        Real numbers.
    bins : int, optional
        How many buckets.

    Returns
    -------
    ndarray of float64
        (bins, 3): left edge, right edge, count.

    Raises
    ------
    TypeError
        Elements are no real numbers.
    ValueError
        `bins` is no positive number.

    Notes
    -----
    *Determinism*: the counts are exact. *Cost*: two passes over the elements, and no
    copy; TensorBoard's own makes a table of as many columns as there are buckets.

    See Also
    --------
    pyscatter.histogram
    tensorboard.plugins.histogram.summary_v2.histogram

    Examples
    --------
    >>> from pyscatter.adapters.tensorboard import histogram_v2
    >>> histogram_v2([1.0, 2.0, 2.5, 5.0], 2)
    array([[1., 3., 3.],
           [3., 5., 1.]])
    """
    return ps.histogram(_array(x), bins).tb2()


def methods_of(writer):
    """Return how a writer takes scalars and histograms."""
    if hasattr(writer, "add_scalar") and hasattr(writer, "add_histogram_raw"):
        return writer.add_scalar, lambda *args: _write_first_kind(writer, *args)
    if hasattr(writer, "as_default") and "tensorflow" in sys.modules:
        summary = sys.modules["tensorflow"].summary
        return (
            lambda tag, value, step: _in(writer, summary.scalar, tag, value, step),
            lambda *args: _write_second_kind(writer, summary, *args),
        )
    raise TypeError(
        f"writer is a {type(writer).__name__}; expected one with add_scalar and "
        "add_histogram_raw (torch, tensorboardX) or of tf.summary"
    )


def _in(writer, function, tag, value, step):
    with writer.as_default():
        function(tag, float(value), step=step)


def _array(x):
    """Return an array; a tensor of torch leaves its graph."""
    return np.asarray(x.detach().cpu() if hasattr(x, "detach") else x)


def _counted(x, bins):
    return x if isinstance(x, ps.Histogram) else ps.histogram(_array(x), bins)


def _write_first_kind(writer, tag, x, step, kind):
    made = _counted(x, "tb1" if kind is None else kind)
    writer.add_histogram_raw(tag, **made.tb1(), global_step=step)


def _write_second_kind(writer, summary, tag, x, step, kind):
    made = _counted(x, "tb2" if kind is None else kind)
    proto = sys.modules["tensorflow"].compat.v1.SummaryMetadata()
    proto.plugin_data.plugin_name = "histograms"
    with writer.as_default():
        summary.write(tag, made.tb2(), step=step, metadata=proto)
