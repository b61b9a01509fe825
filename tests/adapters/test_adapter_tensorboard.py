"""Files that are written through each writer, read back and compared."""

import numpy as np
import pytest

import pyscatter as ps
import pyscatter.adapters.tensorboard as pb
from tests.compat.peers import peer

pytestmark = pytest.mark.filterwarnings("ignore")
OLD, NEW = np.arange(100.0), np.r_[np.arange(50.0), np.full(50, 70.0)]


def read(folder):
    """Return the scalars and histograms of a folder's event files."""
    peer("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    sizes = {"scalars": 0, "histograms": 0, "tensors": 0}
    return EventAccumulator(str(folder), sizes).Reload()


def record():
    tracker = ps.ChangeTracker(hist="tb1")
    first = tracker.update(OLD)
    return first, tracker.update(NEW)


def written(writer):
    first, second = record()
    pb.log_change(writer, first, 0)
    pb.log_change(writer, second, 1)
    pb.log_histogram(writer, "own", NEW, 1)
    return second


@pytest.mark.parametrize("package", ["torch", "tensorboardX"])
def test_scalars_and_histograms_come_back(package, tmp_path):
    peer(package)
    if package == "torch":
        peer("tensorboard")
        from torch.utils.tensorboard import SummaryWriter
    else:
        from tensorboardX import SummaryWriter

    with SummaryWriter(str(tmp_path)) as writer:
        second = written(writer)
    events = read(tmp_path)
    found = {tag: events.Scalars(tag) for tag in events.Tags()["scalars"]}
    assert [e.step for e in found["change/mean_abs"]] == [1]
    assert [e.step for e in found["change/new_mean"]] == [0, 1]
    for tag, points in found.items():
        value = getattr(second, tag.removeprefix("change/"))
        assert points[-1].value == pytest.approx(value, rel=1e-6, nan_ok=True)
    for tag in ("change/hist", "own"):
        histogram = events.Histograms(tag)[-1].histogram_value
        assert (histogram.num, histogram.min, histogram.max) == (100, 0, 70)
        assert sum(histogram.bucket) == 100
        limits = np.array(histogram.bucket_limit)
        counts = np.diff([0, *(np.sum(limit > NEW) for limit in limits[1:-1]), 100])
        assert abs(np.array(histogram.bucket[1:]) - counts).max() == 0


def test_a_writer_of_tf_summary_gets_the_second_kind(tmp_path):
    tf = peer("tensorflow")
    writer = tf.summary.create_file_writer(str(tmp_path))
    second = written(writer)
    writer.close()
    events = read(tmp_path)
    point = events.Tensors("change/mean_abs")[-1]
    assert tf.make_ndarray(point.tensor_proto) == pytest.approx(second.mean_abs)
    table = tf.make_ndarray(events.Tensors("own")[-1].tensor_proto)
    np.testing.assert_array_equal(table, pb.histogram_v2(NEW))
    assert events.SummaryMetadata("own").plugin_data.plugin_name == "histograms"


def test_the_second_kind_is_tensorboards():
    peer("tensorboard")
    from tensorboard.plugins.histogram import summary_v2

    random = np.random.default_rng(1).normal(size=1000)
    for x in (random, np.ones(5), np.zeros(0)):
        theirs = summary_v2.histogram_pb("x", x.astype("f8"), buckets=30)
        values = theirs.value[0].tensor
        from tensorboard.util import tensor_util

        table = tensor_util.make_ndarray(values)
        ours = pb.histogram_v2(x)
        np.testing.assert_allclose(ours, table, rtol=1e-12)


class Scalars(dict):
    """A writer that keeps scalars."""

    def add_scalar(self, tag, value, step):
        self[tag] = value

    def add_histogram_raw(self, tag, **fields):
        self[tag] = None


def test_fields_are_chosen():
    writer, (_, second) = Scalars(), record()
    pb.log_change(writer, second, 1, tag="t", fields=("rms", "n_nan"))
    assert writer == {"t/rms": second.rms, "t/n_nan": 0, "t/hist": None}
    everything = Scalars()
    pb.log_change(everything, second, 1, tag="t")
    assert writer.items() < everything.items()
    with pytest.raises(AttributeError, match="no_such"):
        pb.log_change(writer, second, 1, fields=("no_such",))


def test_what_is_no_writer():
    with pytest.raises(TypeError, match="writer is a list"):
        pb.log_change([], record()[1], 0)
    with pytest.raises(TypeError, match="expected one with add_scalar"):
        pb.log_histogram(None, "x", NEW, 0)
