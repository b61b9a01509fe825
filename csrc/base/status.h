/* How an op says what went wrong: a code and the numbers that a message needs.
 *
 * Ops return a ps_status by value; csrc/python/raise.c alone turns it into an
 * exception. Kernels never return one: a scan returns a position, everything else
 * nothing.
 */
#ifndef PS_BASE_STATUS_H
#define PS_BASE_STATUS_H

#include <stdint.h>

enum ps_code {
    PS_OK = 0,
    PS_NO_MEMORY,
    PS_INTERRUPTED,   /* the caller's signal handler raised; an exception is pending */
    PS_INDEX_BAD,     /* value, axis, size, position, total */
    PS_INDEX_CHANGED, /* another thread rewrote the index during the call */
    PS_TOO_LARGE,     /* a product of sizes does not fit in 64 bits */
    PS_STRUCTURE_BAD  /* of a sparse matrix: `axis` is an enum ps_fault */
};

typedef struct {
    enum ps_code code;
    int axis;         /* of the target */
    int is_unsigned;  /* `value` is to be read as uint64_t */
    int64_t value;    /* the index that is out of bounds */
    int64_t size;     /* of that axis */
    int64_t position; /* number of the entry in C order */
    int64_t total;    /* entries of the call */
} ps_status;

#define PS_SUCCESS ((ps_status){.code = PS_OK})

/* Early return: leave the function with the status of `expression` unless it is OK. */
#define PS_TRY(expression)                      \
    do {                                        \
        const ps_status ps_try_ = (expression); \
        if (ps_try_.code != PS_OK) {            \
            return ps_try_;                     \
        }                                       \
    } while (0)

static inline ps_status
ps_fail(enum ps_code code)
{
    return (ps_status){.code = code};
}

#endif
