/* The lanes of a vector added up: each half joins the other, so that element 0 has the
 * sum of a tree. Element k meets element k + h, for h from half the length down to 1,
 * which is how sddmm.tmpl.h lets its sixteen lanes meet. Needs vectors.h.
 */

enum {
    DOT_LANES = 16
};

/* clang-format off */
#if VECTOR_BYTES == 32
#define FLIP_f32_4 {4, 5, 6, 7, 0, 1, 2, 3}
#define FLIP_f32_2 {2, 3, 0, 1, 6, 7, 4, 5}
#define FLIP_f32_1 {1, 0, 3, 2, 5, 4, 7, 6}
#define FLIP_f64_2 {2, 3, 0, 1}
#define FLIP_f64_1 {1, 0, 3, 2}
#else
#define FLIP_f32_2 {2, 3, 0, 1}
#define FLIP_f32_1 {1, 0, 3, 2}
#define FLIP_f64_1 {1, 0}
#endif
/* clang-format on */

TEMPLATE_INLINE f32
total_f32(vector_f32 lanes)
{
#if VECTOR_BYTES == 32
    lanes += __builtin_shuffle(lanes, (lanes_f32)FLIP_f32_4);
#endif
    lanes += __builtin_shuffle(lanes, (lanes_f32)FLIP_f32_2);
    lanes += __builtin_shuffle(lanes, (lanes_f32)FLIP_f32_1);
    return lanes[0];
}

TEMPLATE_INLINE f64
total_f64(vector_f64 lanes)
{
#if VECTOR_BYTES == 32
    lanes += __builtin_shuffle(lanes, (lanes_f64)FLIP_f64_2);
#endif
    lanes += __builtin_shuffle(lanes, (lanes_f64)FLIP_f64_1);
    return lanes[0];
}
