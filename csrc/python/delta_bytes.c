/* A delta as bytes, and back (contract in delta_object.h).
 *
 * All numbers are little-endian. A header of 72 bytes, 8 for each axis, the numbers of
 * units as their encoding has them and zeros up to a multiple of 8, the values, and the
 * XXH64 of all that:
 *
 *    0  \x89PSDELTA     16  flags            40  base version, signed
 *    8  format, 16 bit  17  unit of time     48  version, signed
 *   10  kind, a letter  18  0, 16 bit        56  checksum of the result
 *   11  itemsize        20  units, 32 bit    64  checksum of the base
 *   12  op              24  count            72  shape
 *   13  encoding        32  items of head
 *   14  granularity
 *   15  axes
 *
 * Bytes from elsewhere are not to be trusted. They are copied first, unless nobody can
 * change them; every length is compared with what is there before anything is made or
 * read by it; and numbers of units are checked as a whole, so that a delta which exists
 * can be applied. Whatever is wrong is a ValueError.
 */
#include "python/delta_object.h"

#include <float.h>
#include <string.h>

#include "base/sizes.h"
#include "python/arrays.h"

enum {
    FORMAT = 1,
    HEADER = 72,
    CHECKSUM = 8,
    HAS_CHECKSUM_NEW = 1,
    HAS_CHECKSUM_BASE = 2,
    HAS_BASE_VERSION = 4,
    HAS_VERSION = 8,
    ALL_FLAGS = 15
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "heads and values are copied");

static const char magic[8] = {'\x89', 'P', 'S', 'D', 'E', 'L', 'T', 'A'};

/* The letter of a type, and beside it its size, name it; time has a unit as well. */
static const char kind_letters[PS_NUM_ALL_DTYPES] = {
        [PS_b1] = 'b',  [PS_i8] = 'i',  [PS_i16] = 'i',  [PS_i32] = 'i',
        [PS_i64] = 'i', [PS_u8] = 'u',  [PS_u16] = 'u',  [PS_u32] = 'u',
        [PS_u64] = 'u', [PS_f16] = 'f', [PS_f32] = 'f',  [PS_f64] = 'f',
        [PS_f80] = 'g', [PS_c64] = 'c', [PS_c128] = 'c', [PS_bf16] = 'E'};

static const char *const time_units[] = {
        [NPY_FR_Y] = "Y",   [NPY_FR_M] = "M",
        [NPY_FR_W] = "W",   [NPY_FR_D] = "D",
        [NPY_FR_h] = "h",   [NPY_FR_m] = "m",
        [NPY_FR_s] = "s",   [NPY_FR_ms] = "ms",
        [NPY_FR_us] = "us", [NPY_FR_ns] = "ns",
        [NPY_FR_ps] = "ps", [NPY_FR_fs] = "fs",
        [NPY_FR_as] = "as", [NPY_FR_GENERIC] = "generic"};
enum {
    N_TIME_UNITS = sizeof(time_units) / sizeof(time_units[0])
};

static void
put(char *to, uint64_t number, int nbytes)
{
    memcpy(to, &number, (size_t)nbytes);
}

static uint64_t
take(const char *from, int nbytes)
{
    uint64_t number = 0;
    memcpy(&number, from, (size_t)nbytes);
    return number;
}

/* ---- writing ---- */

static int64_t
padded(int64_t nbytes)
{
    return ps_ceil_div(nbytes, 8) * 8;
}

int64_t
ps_delta_wire_nbytes(const ps_delta_object *self)
{
    return HEADER + 8 * self->label.ndim + padded(self->delta.head_nbytes) +
           self->delta.values_nbytes + CHECKSUM;
}

/* The type: its letter, and what else it takes to name it. */
static void
put_dtype(char *to, const ps_delta_label *label)
{
    to[10] = kind_letters[label->dtype];
    to[11] = (char)ps_dtype_size[label->dtype];
    if (label->dtype == PS_f80) {
        to[17] = LDBL_MANT_DIG;
    }
    if (label->dtype == PS_t64) {
        const PyArray_DatetimeMetaData *const meta =
                &((PyArray_DatetimeDTypeMetaData *)PyDataType_C_METADATA(label->descr))
                         ->meta;
        to[10] = label->descr->type_num == NPY_DATETIME ? 'M' : 'm';
        to[17] = (char)meta->base;
        put(to + 20, (uint64_t)meta->num, 4);
    }
}

static void
put_header(char *to, const ps_delta_object *self)
{
    const ps_delta_label *const label = &self->label;
    memset(to, 0, HEADER);
    memcpy(to, magic, sizeof(magic));
    put(to + 8, FORMAT, 2);
    put_dtype(to, label);
    to[12] = (char)self->delta.op;
    to[13] = (char)self->delta.encoding;
    to[14] = (char)label->granularity;
    to[15] = (char)label->ndim;
    to[16] = (char)((label->has_checksum_new ? HAS_CHECKSUM_NEW : 0) |
                    (label->has_checksum_base ? HAS_CHECKSUM_BASE : 0) |
                    (label->has_base_version ? HAS_BASE_VERSION : 0) |
                    (label->has_version ? HAS_VERSION : 0));
    put(to + 24, (uint64_t)self->delta.count, 8);
    put(to + 32, (uint64_t)self->delta.items, 8);
    put(to + 40, (uint64_t)label->base_version, 8);
    put(to + 48, (uint64_t)label->version, 8);
    put(to + 56, label->checksum_new, 8);
    put(to + 64, label->checksum_base, 8);
    for (int i = 0; i < label->ndim; i++) {
        put(to + HEADER + 8 * i, (uint64_t)label->shape[i], 8);
    }
}

PyObject *
ps_py_delta_to_bytes(PyObject *object, PyObject *unused)
{
    (void)unused;
    const ps_delta_object *const self = (ps_delta_object *)object;
    const ps_delta *const delta = &self->delta;
    const int64_t nbytes = ps_delta_wire_nbytes(self);
    PyObject *const bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)nbytes);
    if (bytes == NULL) {
        return NULL;
    }
    char *const start = PyBytes_AS_STRING(bytes);
    char *const head = start + HEADER + 8 * self->label.ndim;
    char *const behind = head + delta->head_nbytes;
    char *const values = head + padded(delta->head_nbytes);
    put_header(start, self);
    memset(behind, 0, (size_t)(values - behind));
    ps_seal_call seal = {.delta = delta,
                         .head = head,
                         .values = values,
                         .bytes = start,
                         .nbytes = nbytes - CHECKSUM};
    ps_state *const state = PyType_GetModuleState(Py_TYPE(object));
    if (ps_raise(state, ps_run_op(state, ps_seal, &seal, nbytes), "delta") < 0) {
        Py_DECREF(bytes);
        return NULL;
    }
    put(values + delta->values_nbytes, seal.checksum, CHECKSUM);
    return bytes;
}

/* ---- reading ---- */

static int
refuse(const char *why)
{
    PyErr_Format(PyExc_ValueError, "not the bytes of a Delta: %s", why);
    return -1;
}

/* A dtype of time by its text, such as "M8[25s]". */
static PyArray_Descr *
time_descr(char kind, const char *header)
{
    const unsigned unit = (unsigned char)header[17];
    const int32_t num = (int32_t)take(header + 20, 4);
    PyArray_Descr *descr = NULL;
    if (unit >= N_TIME_UNITS || time_units[unit] == NULL || num < 1 ||
        (unit == NPY_FR_GENERIC && num != 1)) {
        return NULL;
    }
    PyObject *const text =
            unit == NPY_FR_GENERIC
                    ? PyUnicode_FromFormat("%c8", kind)
                    : PyUnicode_FromFormat("%c8[%d%s]", kind, num, time_units[unit]);
    if (text != NULL) {
        PyArray_DescrConverter(text, &descr);
        Py_DECREF(text);
    }
    return descr;
}

/* The descriptor that a header names, or NULL, with or without an exception. */
static PyArray_Descr *
take_descr(ps_state *state, const char *header)
{
    const char kind = header[10];
    const int size = (unsigned char)header[11];
    const bool is_time = (kind == 'M' || kind == 'm') && size == 8;
    const unsigned rest = (unsigned)take(header + 20, 4) | (unsigned char)header[17];
    const unsigned expected = kind == 'g' ? LDBL_MANT_DIG : 0;
    for (int i = 0; !is_time && i < PS_NUM_ALL_DTYPES; i++) {
        if (kind != '\0' && kind_letters[i] == kind && ps_dtype_size[i] == size) {
            return rest == expected ? ps_descr_of(state, (enum ps_dtype)i) : NULL;
        }
    }
    return is_time ? time_descr(kind, header) : NULL;
}

static int
take_dtype(ps_state *state, const char *header, ps_delta_label *label)
{
    PyArray_Descr *const descr = take_descr(state, header);
    if (descr == NULL) {
        PyErr_Clear();
        return refuse(header[10] == 'E'
                              ? "bfloat16 is not known before ml_dtypes is imported"
                              : "it names no dtype");
    }
    const int status = ps_delta_set_dtype(state, label, descr);
    Py_DECREF(descr);
    return status;
}

static int
take_shape(const char *header, ps_delta_label *label, int64_t *n)
{
    int64_t nbytes = ps_dtype_size[label->dtype];
    bool fits = true; /* axes of length 0 left out, as NumPy asks it */
    for (int i = 0; i < label->ndim; i++) {
        const int64_t size = (int64_t)take(header + HEADER + 8 * i, 8);
        if (size < 0) {
            return refuse("an axis is negative");
        }
        label->shape[i] = (npy_intp)size;
        fits = fits && (size == 0 || ps_multiply(nbytes, size, &nbytes));
    }
    return fits && ps_count(label->ndim, (const int64_t *)label->shape, n)
                   ? 0
                   : refuse("its array would not fit in 64 bits");
}

static int
take_label(ps_state *state, const char *header, ps_delta_label *label, ps_delta *delta)
{
    const int flags = (unsigned char)header[16];
    const int op = (unsigned char)header[12], encoding = (unsigned char)header[13];
    const int granularity = (unsigned char)header[14];
    if (op >= PS_NUM_DELTA_OPS || encoding >= PS_NUM_DELTA_ENCODINGS ||
        granularity >= PS_NUM_GRANULARITIES || (flags & ~ALL_FLAGS) != 0 ||
        take(header + 18, 2) != 0) {
        return refuse("its header has values that mean nothing");
    }
    label->granularity = (enum ps_granularity)granularity;
    label->has_checksum_new = (flags & HAS_CHECKSUM_NEW) != 0;
    label->has_checksum_base = (flags & HAS_CHECKSUM_BASE) != 0;
    label->has_base_version = (flags & HAS_BASE_VERSION) != 0;
    label->has_version = (flags & HAS_VERSION) != 0;
    label->base_version = (int64_t)take(header + 40, 8);
    label->version = (int64_t)take(header + 48, 8);
    label->checksum_new = take(header + 56, 8);
    label->checksum_base = take(header + 64, 8);
    delta->op = (enum ps_delta_op)op;
    delta->encoding = (enum ps_delta_encoding)encoding;
    delta->count = (int64_t)take(header + 24, 8);
    delta->items = (int64_t)take(header + 32, 8);
    if (take_dtype(state, header, label) < 0 ||
        take_shape(header, label, &delta->n) < 0) {
        return -1;
    }
    delta->itemsize = ps_dtype_size[label->dtype];
    delta->width = ps_delta_unit_width(label);
    return delta->width > 0 ? ps_delta_check_op(label, delta->op) : -1;
}

/* Where head and values are: both lengths are what the bytes have room for. */
static int
take_body(const char *start, int64_t nbytes, const ps_delta_label *label,
          ps_delta *delta)
{
    const int64_t begin = HEADER + 8 * label->ndim;
    const int64_t room = nbytes - begin - CHECKSUM;
    delta->head_nbytes = delta->items < 0 ? -1 : ps_delta_head_nbytes(delta);
    if (delta->head_nbytes < 0 || delta->head_nbytes > room ||
        padded(delta->head_nbytes) > room) {
        return refuse("positions are longer than the buffer");
    }
    delta->head = start + begin;
    delta->values = delta->head + padded(delta->head_nbytes);
    delta->values_nbytes = room - padded(delta->head_nbytes);
    for (int64_t i = delta->head_nbytes; i < padded(delta->head_nbytes); i++) {
        if (delta->head[i] != 0) {
            return refuse("bytes between positions and values are not zero");
        }
    }
    return 0;
}

/* The object of bytes that nobody changes. */
static PyObject *
read_bytes(ps_state *state, PyObject *bytes)
{
    const char *const start = PyBytes_AS_STRING(bytes);
    const int64_t nbytes = PyBytes_GET_SIZE(bytes);
    ps_delta_label label = {.descr = NULL};
    ps_delta delta = {.head = NULL};
    ps_delta_check_call check = {.delta = &delta};
    PyObject *result = NULL;
    if (nbytes < HEADER + CHECKSUM || memcmp(start, magic, sizeof(magic)) != 0) {
        refuse(nbytes < HEADER + CHECKSUM ? "they are too few" : "another beginning");
        return NULL;
    }
    label.ndim = (unsigned char)start[15];
    ps_seal_call seal = {.bytes = start, .nbytes = nbytes - CHECKSUM};
    if (ps_raise(state, ps_run_op(state, ps_seal, &seal, nbytes), "buffer") < 0) {
        return NULL;
    }
    if (seal.checksum != take(start + nbytes - CHECKSUM, CHECKSUM)) {
        refuse("their checksum does not fit");
    }
    else if (take(start + 8, 2) != FORMAT) {
        refuse("their format is of another version");
    }
    else if (label.ndim > PS_MAX_DIMS || nbytes < HEADER + 8 * label.ndim + CHECKSUM) {
        refuse("there are too many axes");
    }
    else if (take_label(state, start, &label, &delta) == 0 &&
             take_body(start, nbytes, &label, &delta) == 0) {
        const ps_status status = ps_run_op(state, ps_delta_check, &check, nbytes);
        if (ps_raise(state, status, "buffer") == 0) {
            result = check.is_good ? ps_delta_object_of(state, &label, &delta, bytes)
                                   : NULL;
        }
        if (result == NULL && !PyErr_Occurred()) {
            refuse("positions or values are not what the header says");
        }
    }
    Py_XDECREF((PyObject *)label.descr);
    return result;
}

PyObject *
ps_py_delta_from_bytes(PyObject *type, PyObject *buffer)
{
    ps_state *const state = PyType_GetModuleState((PyTypeObject *)type);
    if (PyBytes_CheckExact(buffer)) {
        return read_bytes(state, buffer);
    }
    PyObject *const bytes = PyBytes_FromObject(buffer);
    PyObject *const result = bytes != NULL ? read_bytes(state, bytes) : NULL;
    Py_XDECREF(bytes);
    return result;
}
