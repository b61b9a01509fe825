"""ChangeMonitor and ChangeTrackerCallback on one backend, as keras_cases.py."""

import math

import keras
import numpy as np
import pytest
from keras import layers

import pyscatter.adapters.keras as pk
from pyscatter.adapters._keras_changes import FIELDS

BACKEND = keras.backend.backend()
RNG = np.random.default_rng(5)


def model_of(*more):
    keras.utils.set_random_seed(2)
    model = keras.Sequential(
        [keras.Input((4,)), layers.Dense(3, name="d"), *more, layers.Dense(1, name="e")]
    )
    model.compile(keras.optimizers.Adam(0.01), "mse")
    return model


def data(n=64):
    x = RNG.normal(size=(n, 4)).astype("f4")
    return x, x[:, :1]


def test_the_monitor_passes_on_and_records():
    monitor = pk.ChangeMonitor(every=2, hist=8)
    model, plain = model_of(monitor), model_of()
    x, y = data()
    assert not monitor.records
    for m in (model, plain):
        m.fit(x, y, batch_size=8, epochs=1, verbose=0, shuffle=False)
    for ours, theirs in zip(model.get_weights(), plain.get_weights(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    assert len(monitor.records) >= 4
    assert monitor.records[0].first and not monitor.records[-1].first
    assert sum(monitor.records[-1].hist.counts) == 8 * 3
    again = pk.ChangeMonitor.from_config(monitor.get_config())
    assert again.get_config() == monitor.get_config()


class Writer:
    def __init__(self):
        self.scalars, self.histograms = {}, {}

    def add_scalar(self, tag, value, step):
        self.scalars[tag, step] = value

    def add_histogram_raw(self, tag, global_step, **fields):
        self.histograms[tag, global_step] = fields


def test_the_callback_follows_all_three():
    model, writer = model_of(), Writer()
    x, y = data()
    watch = pk.ChangeTrackerCallback(every=4, probe=x[:5], writer=writer)
    history = model.fit(x, y, batch_size=8, epochs=2, verbose=0, callbacks=[watch])
    assert watch.history["batch"] == [0, 4, 8, 12, 16]
    key = f"change/weights/{model.layers[0].kernel.path}/mean_abs"
    values = watch.history[key]
    assert math.isnan(values[0]) and all(v > 0 for v in values[1:])
    assert all(type(v) is float for v in values)
    assert history.history[key] == [values[2], values[4]]
    kinds = {name.split("/")[1] for name in watch.history if "/" in name}
    assert kinds == {"weights", "optimizer", "probe"}
    assert "change/probe/e/rms" in watch.history
    assert writer.scalars[key, 4] == values[1] and (key, 0) not in writer.scalars
    assert {tag.rpartition("/")[2] for tag, _ in writer.scalars} <= set(FIELDS)
    counts = writer.histograms[key.replace("mean_abs", "hist"), 4]["bucket_counts"]
    assert sum(counts) == 12


def test_a_probe_stays_out_of_a_monitors_records():
    monitor = pk.ChangeMonitor()
    model = model_of(monitor)
    x, y = data(16)
    watch = pk.ChangeTrackerCallback(every=1, probe=x[:3])
    model.fit(x, y, batch_size=8, epochs=1, verbose=0, callbacks=[watch])
    assert 2 <= len(monitor.records) <= 3


def test_training_stops_at_a_nan():
    model = model_of()
    x, y = data()
    x[20] = np.nan
    watch = pk.ChangeTrackerCallback(every=1, what=("weights",), stop_on_nonfinite=True)
    model.fit(x, y, batch_size=8, epochs=3, verbose=0, callbacks=[watch], shuffle=False)
    assert watch.history["batch"][-1] == 3


def test_bad_arguments():
    with pytest.raises(ValueError, match="what="):
        pk.ChangeTrackerCallback(what="weights")
    with pytest.raises(ValueError, match="every=0"):
        pk.ChangeTrackerCallback(every=0)
    with pytest.raises(ValueError):
        pk.ChangeMonitor(mode="?")
