"""Sales by shop and month with group_reduce: python examples/sales_by_shop.py

A list of sales as a till writes it: the name of the shop, the day, the amount. Some
have no shop. What is asked for: a line for each shop and month, and the best sale of
each.
"""

import numpy as np

import pyscatter as ps

SHOPS = np.array(["Harbour", "Market", "Station", ""])


def sales(n=10_000):
    """Return shops, days and amounts of n sales."""
    rng = np.random.default_rng(5)
    shop = rng.choice(SHOPS, n, p=[0.3, 0.5, 0.19, 0.01])
    day = np.datetime64("2024-01-01") + rng.integers(0, 90, n)
    return shop, day, rng.integers(100, 10_000, n) / 100


def main():
    """Group in one call, compare with a dict, and print the table."""
    shop, day, amount = sales()
    month = day.astype("M8[M]")
    known = shop != ""

    ops = ("sum", "mean", "count")
    (shops, months), table = ps.group_reduce(amount, shop, month, op=ops, where=known)
    _, best = ps.group_reduce(amount, shop, month, op="argmax", where=known)

    groups = {}
    for name, when, value in zip(shop.tolist(), month, amount, strict=True):
        if name:
            groups.setdefault((name, when), []).append(value)
    assert sorted(groups) == list(zip(shops.tolist(), months, strict=True))
    for i, key in enumerate(sorted(groups)):
        assert np.isclose(table[0][i], sum(groups[key]))
        assert table[2][i] == len(groups[key])
        assert amount[best[i]] == max(groups[key])

    print("shop     month      sum    mean  count  best on")
    for name, when, total, mean, count, at in zip(
        shops, months, *table, best, strict=True
    ):
        print(f"{name:8} {when} {total:8.0f} {mean:7.2f} {count:6d}  {day[at]}")

    # Months as columns: each key numbered for itself, pairs that are missing stay 0.
    row, shops = ps.factorize(shop)
    column, months = ps.factorize(month)
    wide = np.zeros((len(shops), len(months)))
    ps.add_at(wide, (row, column), amount)
    assert np.isclose(wide.sum(), amount.sum())


if __name__ == "__main__":
    main()
