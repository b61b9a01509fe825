/* The types of pure moves, by item size. They may alias anything and need no alignment,
 * so unaligned and foreign data are moved as they are. */
#ifndef PS_KERNELS_MOVE_TYPES
#define PS_KERNELS_MOVE_TYPES

#include "kernels/template.h"

#define MOVE_TYPE __attribute__((may_alias, aligned(1)))
#define MOVE_PAIR \
    __attribute__((may_alias, packed)) /* aligned(1) cannot lower a struct */
typedef uint8_t move1 MOVE_TYPE;
typedef uint16_t move2 MOVE_TYPE;
typedef uint32_t move4 MOVE_TYPE;
typedef uint64_t move8 MOVE_TYPE;
typedef struct {
    uint64_t low, high;
} MOVE_PAIR move16;

/* Four items side by side, for moves through registers. */
typedef uint8_t quad_move1 __attribute__((vector_size(4)));
typedef uint16_t quad_move2 __attribute__((vector_size(8)));
typedef uint32_t quad_move4 __attribute__((vector_size(16)));
typedef uint64_t quad_move8 __attribute__((vector_size(32)));

/* In #if: of how many numbers does a value of T consist? */
#define PARTS_OF_move1 1
#define PARTS_OF_move2 1
#define PARTS_OF_move4 1
#define PARTS_OF_move8 1
#define PARTS_OF_move16 2
#define PARTS_OF_T PASTE2(PARTS_OF, T)

#endif
