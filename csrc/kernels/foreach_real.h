/* Includes TEMPLATE once per real type that values are cast to (PS_FOR_EACH_REAL). */
#define T b1
#include TEMPLATE
#undef T
#define T i8
#include TEMPLATE
#undef T
#define T u8
#include TEMPLATE
#undef T
#define T i16
#include TEMPLATE
#undef T
#define T u16
#include TEMPLATE
#undef T
#define T i32
#include TEMPLATE
#undef T
#define T u32
#include TEMPLATE
#undef T
#define T i64
#include TEMPLATE
#undef T
#define T u64
#include TEMPLATE
#undef T
#define T f16
#include TEMPLATE
#undef T
#define T bf16
#include TEMPLATE
#undef T
#define T f32
#include TEMPLATE
#undef T
#define T f64
#include TEMPLATE
#undef T
#undef TEMPLATE
