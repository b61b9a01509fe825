/* Includes TEMPLATE once per index type (PS_FOR_EACH_INDEX). */
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
#undef TEMPLATE
