/* What all units stamp with: names of instances, grids of pointers to them.
 *
 * A unit is one .c file of ten lines: it opens the target region of a CPU level, names
 * it (ISA), and includes one of the instances*.h, which include the templates that they
 * stamp. Units are small enough to be compiled side by side and one by one. Names of
 * instances: family, op, dtype, ISA; of grids: family, ISA. Instances are static, so
 * that those which no grid holds are never compiled.
 */
#ifndef PS_KERNELS_STAMPS_H
#define PS_KERNELS_STAMPS_H

#include "base/tables.h"
#include "kernels/kernels.h"
#include "kernels/template.h"

#define NAME_(family, op, dtype, isa) family##_##op##_##dtype##_##isa
#define NAME__(family, op, dtype, isa) NAME_(family, op, dtype, isa)
#define NAME(family, op, dtype) NAME__(family, op, dtype, ISA)

/* ISA_OF_ELEMENTS names the level whose grids of single elements serve this one.
 *
 * The grid of a family: const GRID_OF(scatter, n) = {...} defines that of the unit's
 * level, GRID(scatter, avx2) names one. Its elements are what the table says. */
#define GRID_(family, isa) family##_##isa
#define GRID(family, isa) GRID_(family, isa)
#define GRID_TYPE(family) __typeof__(*((const ps_kernel_table *)0)->family)
#define GRID_OF(family, n) GRID_TYPE(family) GRID(family, ISA)[n]

/* clang-format off */
enum {
    BOOL = PS_KIND_BOOL, INT = PS_KIND_INT, FLOAT = PS_KIND_FLOAT,
    COMPLEX = PS_KIND_COMPLEX, TIME = PS_KIND_TIME, LONG = PS_KIND_LONG,
    PAIR = PS_KIND_PAIR, HALF = PS_KIND_HALF
};

/* Kernels that would be the same are one (tables.h): the instance that serves a
 * reduction on a type. */
#define REDUCTION_OF_BOOL(op, bools, integers) bools
#define REDUCTION_OF_INT(op, bools, integers) integers
#define REDUCTION_OF_FLOAT(op, bools, integers) op
#define REDUCTION_OF_LONG(op, bools, integers) op
#define REDUCTION_OF_COMPLEX(op, bools, integers) op
#define REDUCTION_OF_TIME(op, bools, integers) op
#define REDUCTION_OF_PAIR(op, bools, integers) op
#define TYPE_OF_ANY(dtype, unsign) unsign
#define TYPE_OF_OWN(dtype, unsign) dtype
#define INSTANCE(family, op, bools, integers, sign, dtype, kind, unsign) \
    NAME(family, REDUCTION_OF_##kind(op, bools, integers), TYPE_OF_##sign(dtype, unsign))

/* NaT is the lowest integer: it wins under min and loses under fmax, as integers do. */
#define ARE_TICKS(op, kind) (kind == TIME && (PS_##op == PS_min || PS_##op == PS_fmax))

/* Cells of a grid by reduction and element type. */
#define GRID_CELL(dtype, arith, kind, unsign, family, op, kinds, bools, integers, sign)       \
    [PS_##dtype] = !((kinds) & kind) ? NULL                                                   \
                   : ARE_TICKS(op, kind) ? NAME(family, integers, i64)                        \
                   : INSTANCE(family, op, bools, integers, sign, dtype, kind, unsign),
#define GRID_ROW(op, kinds, bools, integers, sign, on_int, on_real, on_complex, on_time, on_pair, family, ...) \
    [PS_##op] = {PS_FOR_EACH_DTYPE(GRID_CELL, family, op, kinds, bools, integers, sign)},
/* clang-format on */

#endif
