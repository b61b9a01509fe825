/* ps_view: an array as the ops see it. It owns nothing; shape and strides belong to
 * whoever made the view and outlive it.
 */
#ifndef PS_BASE_VIEW_H
#define PS_BASE_VIEW_H

#include "base/tables.h"

/* NumPy's own limit on the number of axes. */
enum {
    PS_MAX_DIMS = 64
};

typedef struct {
    char *data;
    enum ps_dtype dtype;
    int ndim;
    int64_t itemsize;
    const int64_t *shape;
    const int64_t *strides; /* in bytes */
    bool swapped;           /* the other byte order */
    bool aligned;           /* data and strides are multiples of the type's alignment */
} ps_view;

#endif
