"""What the C module offers: the public functions that pyscatter exports as they are,
and hooks for tests. `tests/project/test_docs.py` compares this file with the module.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Literal, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from pyscatter.bins import Binned
from pyscatter.change import ChangeStats
from pyscatter.histogram import Histogram

Op: TypeAlias = str | np.ufunc
Mode: TypeAlias = Literal["raise", "drop", "clip", "wrap"]
GatherMode: TypeAlias = Literal["raise", "drop", "clip", "wrap", "fill"]
Casting: TypeAlias = Literal["no", "equiv", "safe", "same_kind", "unsafe"]

def add_at(
    a: np.ndarray,
    indices: ArrayLike | tuple[Any, ...],
    b: ArrayLike,
    *,
    axis: int | None = None,
    mode: Mode = "raise",
    where: ArrayLike | None = None,
) -> None: ...
def argwhere(
    a: ArrayLike,
    *,
    size: SupportsIndex | None = None,
    fill_value: SupportsIndex = 0,
) -> np.ndarray: ...
def bin_index(
    x: ArrayLike,
    bins: SupportsIndex | ArrayLike = 10,
    range: tuple[float, float] | None = None,
    *,
    outside: Literal["drop", "clip", "extend"] = "drop",
) -> tuple[np.ndarray, np.ndarray]: ...
def bincount(
    x: ArrayLike,
    weights: ArrayLike | None = None,
    minlength: SupportsIndex = 0,
    *,
    axis: SupportsIndex | None = None,
    where: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
    out: np.ndarray | None = None,
) -> np.ndarray: ...
def binned_reduce(
    coords: ArrayLike | tuple[ArrayLike, ...] | list[ArrayLike],
    values: ArrayLike | tuple[ArrayLike, ...] | None = None,
    bins: Any = 10,
    range: Any = None,
    *,
    op: Any = "count",
    outside: Literal["drop", "clip", "extend"] = "drop",
    **options: Any,
) -> Binned: ...
def bitwise_and_at(
    a: np.ndarray,
    indices: ArrayLike | tuple[Any, ...],
    b: ArrayLike,
    *,
    axis: int | None = None,
    mode: Mode = "raise",
    where: ArrayLike | None = None,
) -> None: ...
def bitwise_or_at(
    a: np.ndarray,
    indices: ArrayLike | tuple[Any, ...],
    b: ArrayLike,
    *,
    axis: int | None = None,
    mode: Mode = "raise",
    where: ArrayLike | None = None,
) -> None: ...
def bitwise_xor_at(
    a: np.ndarray,
    indices: ArrayLike | tuple[Any, ...],
    b: ArrayLike,
    *,
    axis: int | None = None,
    mode: Mode = "raise",
    where: ArrayLike | None = None,
) -> None: ...
def change_stats(
    old: ArrayLike,
    new: ArrayLike,
    *,
    axis: SupportsIndex = 0,
    atol: float = 0,
    rtol: float = 0,
    hist: str | int | ArrayLike | None = None,
    per_row: bool = False,
    per_feature: bool = False,
    finite_only: bool = False,
    view: Literal["bfloat16"] | None = None,
    copy_new_to: np.ndarray | None = None,
) -> ChangeStats: ...
def count_nonzero(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    *,
    keepdims: bool = False,
) -> np.ndarray: ...
def divide_at(
    a: np.ndarray,
    indices: ArrayLike | tuple[Any, ...],
    b: ArrayLike,
    *,
    axis: int | None = None,
    mode: Mode = "raise",
    where: ArrayLike | None = None,
) -> None: ...
def flatnonzero(
    a: ArrayLike,
    *,
    size: SupportsIndex | None = None,
    fill_value: SupportsIndex = 0,
) -> np.ndarray: ...
def floor_divide_at(
    a: np.ndarray,
    indices: ArrayLike | tuple[Any, ...],
    b: ArrayLike,
    *,
    axis: int | None = None,
    mode: Mode = "raise",
    where: ArrayLike | None = None,
) -> None: ...
def fmax_at(
    a: np.ndarray,
    indices: ArrayLike | tuple[Any, ...],
    b: ArrayLike,
    *,
    axis: int | None = None,
    mode: Mode = "raise",
    where: ArrayLike | None = None,
) -> None: ...
def fmin_at(
    a: np.ndarray,
    indices: ArrayLike | tuple[Any, ...],
    b: ArrayLike,
    *,
    axis: int | None = None,
    mode: Mode = "raise",
    where: ArrayLike | None = None,
) -> None: ...
def gather(
    a: ArrayLike,
    index: ArrayLike,
    axis: SupportsIndex | None = ...,
    *,
    batch_dims: SupportsIndex = 0,
    where: ArrayLike | None = None,
    mode: GatherMode = "raise",
    fill_value: Any = None,
    out: np.ndarray | None = None,
) -> np.ndarray: ...
def gather_along_axis(
    a: ArrayLike,
    index: ArrayLike,
    axis: SupportsIndex = -1,
    *,
    where: ArrayLike | None = None,
    mode: GatherMode = "raise",
    fill_value: Any = None,
    out: np.ndarray | None = None,
) -> np.ndarray: ...
def gather_at(
    a: ArrayLike,
    indices: ArrayLike | tuple[Any, ...],
    *,
    where: ArrayLike | None = None,
    mode: GatherMode = "raise",
    fill_value: Any = None,
    out: np.ndarray | None = None,
) -> np.ndarray: ...
def gather_nd(
    a: ArrayLike,
    indices: ArrayLike,
    *,
    batch_dims: SupportsIndex = 0,
    where: ArrayLike | None = None,
    mode: GatherMode = "raise",
    fill_value: Any = None,
    out: np.ndarray | None = None,
) -> np.ndarray: ...
def gather_where(
    a: ArrayLike,
    mask: ArrayLike,
    axis: int | None = None,
    *,
    out: np.ndarray | None = None,
) -> np.ndarray: ...
def histogram(
    x: ArrayLike,
    bins: SupportsIndex | Literal["tb1", "tb2", "log2"] | ArrayLike = 10,
    range: tuple[float, float] | None = None,
    density: bool = False,
    weights: ArrayLike | None = None,
) -> Histogram: ...
def maximum_at(
    a: np.ndarray,
    indices: ArrayLike | tuple[Any, ...],
    b: ArrayLike,
    *,
    axis: int | None = None,
    mode: Mode = "raise",
    where: ArrayLike | None = None,
) -> None: ...
def minimum_at(
    a: np.ndarray,
    indices: ArrayLike | tuple[Any, ...],
    b: ArrayLike,
    *,
    axis: int | None = None,
    mode: Mode = "raise",
    where: ArrayLike | None = None,
) -> None: ...
def multiply_at(
    a: np.ndarray,
    indices: ArrayLike | tuple[Any, ...],
    b: ArrayLike,
    *,
    axis: int | None = None,
    mode: Mode = "raise",
    where: ArrayLike | None = None,
) -> None: ...
def nonzero(
    a: ArrayLike,
    *,
    size: SupportsIndex | None = None,
    fill_value: SupportsIndex = 0,
) -> tuple[np.ndarray, ...]: ...
def scatter(
    a: ArrayLike,
    index: ArrayLike,
    values: ArrayLike,
    axis: SupportsIndex | None = ...,
    *,
    batch_dims: SupportsIndex = 0,
    op: Op = "set",
    where: ArrayLike | None = None,
    mode: Mode = "raise",
    include_self: bool = True,
    dtype: DTypeLike | None = None,
    compensated: bool = False,
    casting: Casting = "same_kind",
    out: np.ndarray | None = None,
) -> np.ndarray: ...
def scatter_along_axis(
    a: ArrayLike,
    index: ArrayLike,
    values: ArrayLike,
    axis: SupportsIndex = -1,
    *,
    op: Op = "set",
    where: ArrayLike | None = None,
    mode: Mode = "raise",
    include_self: bool = True,
    dtype: DTypeLike | None = None,
    compensated: bool = False,
    casting: Casting = "same_kind",
    out: np.ndarray | None = None,
) -> np.ndarray: ...
def scatter_at(
    a: ArrayLike,
    indices: ArrayLike | tuple[Any, ...],
    values: ArrayLike,
    *,
    op: Op = "set",
    where: ArrayLike | None = None,
    mode: Mode = "raise",
    include_self: bool = True,
    dtype: DTypeLike | None = None,
    compensated: bool = False,
    casting: Casting = "same_kind",
    out: np.ndarray | None = None,
) -> np.ndarray: ...
def scatter_nd(
    a: ArrayLike,
    indices: ArrayLike,
    values: ArrayLike,
    *,
    batch_dims: SupportsIndex = 0,
    op: Op = "set",
    where: ArrayLike | None = None,
    mode: Mode = "raise",
    include_self: bool = True,
    dtype: DTypeLike | None = None,
    compensated: bool = False,
    casting: Casting = "same_kind",
    out: np.ndarray | None = None,
) -> np.ndarray: ...
def scatter_where(
    a: ArrayLike,
    mask: ArrayLike,
    values: ArrayLike,
    *,
    op: Op = "set",
    packed: bool = False,
    casting: Casting = "same_kind",
    out: np.ndarray | None = None,
) -> np.ndarray: ...
def segment_cumsum(
    values: ArrayLike, ids: ArrayLike | Plan | None = None, **options: Any
) -> np.ndarray: ...
def segment_expand(
    g: ArrayLike,
    ids: ArrayLike | Plan | None = None,
    *,
    offsets: ArrayLike | None = None,
    lengths: ArrayLike | None = None,
    axis: SupportsIndex = 0,
) -> np.ndarray: ...
def segment_log_softmax(
    values: ArrayLike,
    ids: ArrayLike | Plan | None = None,
    num_segments: SupportsIndex | None = None,
    *,
    offsets: ArrayLike | None = None,
    lengths: ArrayLike | None = None,
    axis: SupportsIndex | None = ...,
    batch_dims: SupportsIndex = 0,
) -> np.ndarray: ...
def segment_max(
    values: ArrayLike,
    ids: ArrayLike | Plan | None = None,
    num_segments: SupportsIndex | None = None,
    **options: Any,
) -> Any: ...
def segment_mean(
    values: ArrayLike,
    ids: ArrayLike | Plan | None = None,
    num_segments: SupportsIndex | None = None,
    **options: Any,
) -> Any: ...
def segment_min(
    values: ArrayLike,
    ids: ArrayLike | Plan | None = None,
    num_segments: SupportsIndex | None = None,
    **options: Any,
) -> Any: ...
def segment_prod(
    values: ArrayLike,
    ids: ArrayLike | Plan | None = None,
    num_segments: SupportsIndex | None = None,
    **options: Any,
) -> Any: ...
def segment_reduce(
    values: ArrayLike | None,
    ids: ArrayLike | Plan | None = None,
    num_segments: SupportsIndex | None = None,
    *,
    offsets: ArrayLike | None = None,
    starts: ArrayLike | None = None,
    stops: ArrayLike | None = None,
    lengths: ArrayLike | None = None,
    gather: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    axis: SupportsIndex | None = ...,
    batch_dims: SupportsIndex = 0,
    op: Any = "add",
    q: ArrayLike | None = None,
    ddof: float = 0,
    initial: Any = None,
    fill_value: Any = None,
    where: ArrayLike | None = None,
    skipna: bool = False,
    mode: Mode = "raise",
    return_arg: bool = False,
    return_counts: bool = False,
    assume_sorted: bool = False,
    dtype: DTypeLike | None = None,
    compensated: bool = False,
    out: np.ndarray | tuple[np.ndarray, ...] | None = None,
) -> Any: ...
def segment_scan(
    values: ArrayLike,
    ids: ArrayLike | Plan | None = None,
    *,
    offsets: ArrayLike | None = None,
    lengths: ArrayLike | None = None,
    axis: SupportsIndex | None = 0,
    op: Any = "add",
    exclusive: bool = False,
    reverse: bool = False,
    dtype: DTypeLike | None = None,
) -> np.ndarray: ...
def segment_softmax(
    values: ArrayLike,
    ids: ArrayLike | Plan | None = None,
    num_segments: SupportsIndex | None = None,
    *,
    offsets: ArrayLike | None = None,
    lengths: ArrayLike | None = None,
    axis: SupportsIndex | None = ...,
    batch_dims: SupportsIndex = 0,
) -> np.ndarray: ...
def segment_sum(
    values: ArrayLike,
    ids: ArrayLike | Plan | None = None,
    num_segments: SupportsIndex | None = None,
    **options: Any,
) -> Any: ...
def subtract_at(
    a: np.ndarray,
    indices: ArrayLike | tuple[Any, ...],
    b: ArrayLike,
    *,
    axis: int | None = None,
    mode: Mode = "raise",
    where: ArrayLike | None = None,
) -> None: ...
def where(
    condition: ArrayLike,
    x: ArrayLike,
    y: ArrayLike,
    *,
    out: np.ndarray | None = None,
    dtype: DTypeLike | None = None,
    casting: Casting = "same_kind",
) -> np.ndarray: ...

class Plan:
    def __init__(
        self, index: ArrayLike, size: SupportsIndex, *, mode: Mode = "raise"
    ) -> None: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def size(self) -> int: ...
    @property
    def mode(self) -> Mode: ...
    @property
    def n(self) -> int: ...
    @property
    def n_dropped(self) -> int: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def min(self) -> int | None: ...
    @property
    def max(self) -> int | None: ...
    @property
    def is_sorted(self) -> bool: ...
    @property
    def is_unique(self) -> bool: ...
    @property
    def has_negative(self) -> bool: ...
    @property
    def nbytes(self) -> int: ...

class Delta:
    def __init__(
        self,
        shape: tuple[SupportsIndex, ...],
        dtype: DTypeLike,
        base_version: SupportsIndex | None,
        version: SupportsIndex | None,
        encoding: str,
        positions: ArrayLike | None,
        values: ArrayLike,
        checksum_new: SupportsIndex | None = None,
        checksum_base: SupportsIndex | None = None,
        *,
        op: Literal["overwrite", "xor", "add"] = "overwrite",
        granularity: Literal["element", "row", "block"] = "element",
    ) -> None: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def base_version(self) -> int | None: ...
    @property
    def version(self) -> int | None: ...
    @property
    def encoding(self) -> str: ...
    @property
    def positions(self) -> np.ndarray: ...
    @property
    def values(self) -> np.ndarray: ...
    @property
    def checksum_new(self) -> int | None: ...
    @property
    def checksum_base(self) -> int | None: ...
    @property
    def op(self) -> Literal["overwrite", "xor", "add"]: ...
    @property
    def granularity(self) -> Literal["element", "row", "block"]: ...
    @property
    def nbytes(self) -> int: ...
    def __len__(self) -> int: ...
    def apply(
        self,
        target: ArrayLike,
        out: np.ndarray | None = None,
        *,
        verify: Literal["none", "base", "new", "both"] = "none",
        base_version: SupportsIndex | None = None,
    ) -> np.ndarray: ...
    def invert(self, old: ArrayLike | None = None) -> Delta: ...
    def compose(self, other: Delta, /) -> Delta: ...
    def to_bytes(self) -> bytes: ...
    @classmethod
    def from_bytes(cls, buffer: Any, /) -> Delta: ...
    def with_versions(
        self, base_version: SupportsIndex | None, version: SupportsIndex | None
    ) -> Delta: ...

def delta(
    old: ArrayLike,
    new: ArrayLike,
    *,
    granularity: Literal["element", "row", "block"] = "element",
    top_k: SupportsIndex | None = None,
    threshold: float | None = None,
    op: Literal["overwrite", "xor", "add"] = "overwrite",
    encoding: str = "auto",
) -> Delta: ...

class Container:
    def __init__(
        self, arrays: tuple[Any, ...], shape: tuple[SupportsIndex, SupportsIndex]
    ) -> None: ...
    @property
    def data(self) -> np.ndarray | None: ...
    @property
    def entries(self) -> np.ndarray: ...
    @property
    def pointers(self) -> np.ndarray: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def nnz(self) -> int: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    def _with_data(self, data: np.ndarray | None, /) -> Any: ...

class HistogramRecord:
    def __init__(self, *fields: Any) -> None: ...
    counts: np.ndarray
    edges: np.ndarray
    kind: str
    density: bool
    weighted: bool
    range_found: bool
    n_nan: int
    n_posinf: int
    n_neginf: int
    n_below: int
    n_above: int
    num: int
    min: float
    max: float
    sum: float
    sum_squares: float

class ChangeRecord:
    def __init__(
        self, raw: bytes, arrays: tuple[Any, Any] | None = None, context: dict = {}, /
    ) -> None: ...
    _raw: bytes
    _arrays: tuple[Any, Any] | None
    _context: dict[str, Any]
    _numbers: dict[str, Any] | None

class TrackerBase:
    _state: tuple[Any, ...]
    _lock: Any
    _name: str | None
    _is_busy: bool
    def update(self, x: ArrayLike, ids: ArrayLike | None = None) -> Any: ...
    def _set_plain(self, options: tuple[Any, ...] | None, /) -> None: ...

# Hooks for tests and for pyscatter itself.
threads_var: ContextVar[int | None]

def get_threads() -> int: ...
def set_threads(threads: int, /) -> None: ...
def kernels() -> list[tuple[str, str, str, str, str]]: ...
def levels() -> tuple[str, ...]: ...
def level() -> str: ...
def force_level(name: str, /) -> str: ...
def algorithms() -> tuple[str, ...]: ...
def force_keys(way: str | None, parts: int, /) -> tuple[str, int]: ...
def factorize(
    *keys: ArrayLike,
    sort: bool = True,
    missing: Literal["group", "drop", "raise"] = "group",
    return_first: bool = False,
    return_counts: bool = False,
) -> tuple[Any, ...]: ...
def group_reduce(
    values: ArrayLike | tuple[ArrayLike, ...] | None,
    *keys: ArrayLike,
    op: str | np.ufunc | tuple[str | np.ufunc, ...] = "add",
    sort: bool = True,
    missing: Literal["group", "drop", "raise"] = "drop",
    **options: Any,
) -> tuple[Any, Any]: ...
def force_bin_way(name: str | None, /) -> str | None: ...
def force_algorithm(name: str | None, /) -> str | None: ...
def force_threads(always: bool, /) -> bool: ...
def set_docstring(function: Callable[..., Any], text: str, /) -> None: ...
def check_matrix(A: Any, /) -> None: ...
def spmm(
    A: Any,
    X: Any,
    *,
    alpha: complex = 1,
    beta: complex = 0,
    out: np.ndarray | None = None,
    op: str | np.ufunc = "add",
    semiring: Literal["min_plus", "max_plus", "max_times", "or_and"] | None = None,
    transpose: bool = False,
    conjugate: bool = False,
    fill_value: complex | None = None,
    dtype: DTypeLike | None = None,
) -> np.ndarray: ...
def sddmm(
    A: Any,
    X: ArrayLike,
    Y: ArrayLike,
    *,
    values: Literal["pattern", "scale"] = "pattern",
    out: np.ndarray | None = None,
) -> np.ndarray: ...
def change_update(items: tuple[tuple[Any, ...], ...], /) -> list[tuple[bytes, Any]]: ...
def change_fields() -> tuple[str, str]: ...
def change_join(raws: tuple[bytes, ...], /) -> bytes: ...
def as_plain(array: ArrayLike, name: str, /) -> np.ndarray: ...
def require_cast(
    what: str, dtype: np.dtype, target: np.dtype, casting: Casting, /
) -> None: ...
def elementary(name: Literal["exp", "log"], values: np.ndarray, /) -> np.ndarray: ...
def plan_index(plan: Plan, /) -> np.ndarray: ...
def plan_has_negative(plan: Plan, /) -> bool: ...
def explain(
    actual: ArrayLike, desired: ArrayLike, rtol: float, atol: float, /
) -> tuple[int, int, tuple[int, ...], float, float]: ...
def load_delta(dtype: np.dtype[Any], buffer: bytes, /) -> Delta: ...
def load_plan(
    rows: np.ndarray, size: int, mode: Mode, has_negative: bool, /
) -> Plan: ...
def make_container(
    form: type[Container],
    data: np.ndarray | None,
    entries: np.ndarray,
    pointers: np.ndarray,
    n_rows: int,
    n_cols: int,
    turned: Container | None = None,
    /,
) -> Container: ...
def kept_bytes(container: Container, /) -> int: ...
def assemble(
    coordinates: tuple[ArrayLike, ArrayLike],
    shape: tuple[SupportsIndex, SupportsIndex],
    data: ArrayLike | None,
    /,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[int, int]]: ...
def assembled(
    form: type[Container],
    slots: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
    shape: tuple[int, int],
    data: ArrayLike,
    /,
) -> Container: ...
def coo_to_csr(
    form: type[Container],
    data: ArrayLike,
    coordinates: tuple[ArrayLike, ArrayLike],
    shape: tuple[SupportsIndex, SupportsIndex],
    /,
) -> Container: ...
def convert(
    A: Any, format: Literal["csr", "csc", "coo"], /
) -> tuple[np.ndarray | None, np.ndarray, np.ndarray]: ...
def accumulate(
    acc: np.ndarray, g: np.ndarray, weight: float, how: Literal[0, 1, 2], /
) -> int: ...
def pull_back(
    op: str,
    old: np.ndarray | None,
    index: np.ndarray,
    values: np.ndarray,
    out: np.ndarray,
    g: np.ndarray,
    ties: str,
    /,
) -> tuple[np.ndarray | None, np.ndarray] | None: ...
def begin(
    cls: type[Call],
    rule: Any,
    recipes: dict[str | None, tuple[Any, ...]],
    called: Callable[..., Any],
    primals: tuple[Any, ...],
    options: dict[str, Any],
    ties: str,
    wanted: tuple[int, ...],
    /,
) -> tuple[np.ndarray, Call] | None: ...

class Call:
    rule: Any
    primals: tuple[Any, ...]
    options: dict[str, Any]
    out: Any
    ties: str
    store: dict[Any, Any]
    bound: dict[str, Any] | None
    wanted: tuple[int, ...]
    recipe: tuple[Any, ...] | None
    option: Any
    def __new__(
        cls,
        rule: Any,
        primals: tuple[Any, ...],
        options: dict[str, Any],
        out: Any,
        ties: str,
        wanted: tuple[int, ...] = (),
        /,
    ) -> Call: ...
    def __call__(self, g: Any, /, **options: Any) -> tuple[Any, ...]: ...

pull_operands: tuple[int, int, int, int, int]

def covers(mask: Any, g: Any, /) -> bool: ...
def are_factors(A: Any, /, *dense: Any) -> bool: ...
def total_chosen(g: Any, mask: Any, chosen: bool, /) -> np.ndarray | None: ...
def op_spellings() -> dict[str, str]: ...
def sum_chosen(g: np.ndarray, mask: np.ndarray, chosen: bool, /) -> np.ndarray: ...
def color_columns(
    row_edge: np.ndarray,
    col: np.ndarray,
    col_edge: np.ndarray,
    row: np.ndarray,
    order: np.ndarray,
    /,
) -> tuple[np.ndarray, int]: ...
def format_of(A: Any, /) -> Literal["csr", "csc", "coo"]: ...
def spgemm(form: type[Container], A: Any, B: Any, /) -> tuple[Container, Any]: ...
def spgemm_again(
    form: type[Container],
    like: Container,
    structure: Any,
    A_data: ArrayLike | None,
    B_data: ArrayLike | None,
    /,
) -> Container: ...
