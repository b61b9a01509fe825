/* Vectors for sums in lanes: as wide as the level's registers, up to 32 bytes.
 *
 * Sixteen lanes are then a small array of vectors that stays in registers. Wider ones
 * won nothing where segments are short, which is where the time goes.
 */
#if defined(ISA_HAS_AVX2)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

enum {
    FOLD_LANES = 16,
    /* Listed rows are asked for from memory so many rows ahead, as for gathers. */
    FOLD_AHEAD = 8
};

/* vector_f32: may lie at any address of its items; lanes_f32: integers as wide;
 * key_f32: one of these. */
#define DEFINE_VECTOR(type, integer)                                                \
    typedef type vector_##type __attribute__((vector_size(VECTOR_BYTES), may_alias, \
                                              aligned(sizeof(type))));              \
    typedef integer key_##type;                                                     \
    typedef integer lanes_##type __attribute__((vector_size(VECTOR_BYTES)));

DEFINE_VECTOR(f32, int32_t)
DEFINE_VECTOR(f64, int64_t)

#define VECTOR PASTE2(vector, T)
#define LANES PASTE2(lanes, T)
#define KEY PASTE2(key, T)

/* Sixteen lanes that start n items before the middle: the first n are set. */
/* clang-format off */
static const int32_t window_f32[32] = {
    -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
static const int64_t window_f64[32] = {
    -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
/* clang-format on */

/* How two vectors of running folds become one whose lanes have met by halves, step by
 * step: LOW_f32_1 says where in (a, b) the lower halves are at step 1. Written out, so
 * that they are constants when the compiler looks for an instruction. What is in 16
 * bytes stays there after the first step of 32-byte vectors: moves across cost three
 * times as much. */
/* clang-format off */
#if defined(ISA_HAS_AVX2)
#define LOW_f32_0 {0, 1, 2, 3, 8, 9, 10, 11}
#define HIGH_f32_0 {4, 5, 6, 7, 12, 13, 14, 15}
#define LOW_f32_1 {0, 1, 8, 9, 4, 5, 12, 13}
#define HIGH_f32_1 {2, 3, 10, 11, 6, 7, 14, 15}
#define LOW_f32_2 {0, 2, 8, 10, 4, 6, 12, 14}
#define HIGH_f32_2 {1, 3, 9, 11, 5, 7, 13, 15}
#define LOW_f64_0 {0, 1, 4, 5}
#define HIGH_f64_0 {2, 3, 6, 7}
#define LOW_f64_1 {0, 4, 2, 6}
#define HIGH_f64_1 {1, 5, 3, 7}
#else
#define LOW_f32_0 {0, 1, 4, 5}
#define HIGH_f32_0 {2, 3, 6, 7}
#define LOW_f32_1 {0, 2, 4, 6}
#define HIGH_f32_1 {1, 3, 5, 7}
#define LOW_f32_2 {0}
#define HIGH_f32_2 {0}
#define LOW_f64_0 {0, 2}
#define HIGH_f64_0 {1, 3}
#define LOW_f64_1 {0}
#define HIGH_f64_1 {0}
#endif
#define LOW_f64_2 {0}
#define HIGH_f64_2 {0}
/* clang-format on */

#define PASTE3_(a, b, c) a##_##b##_##c
#define PASTE3(a, b, c) PASTE3_(a, b, c)
#define HALVE(op, a, b, step)                                               \
    OF_TYPE(join)(op, __builtin_shuffle(a, b, (LANES)PASTE3(LOW, T, step)), \
                  __builtin_shuffle(a, b, (LANES)PASTE3(HIGH, T, step)))
