/* Includes TEMPLATE once per element type that has kernels (the rows of
 * PS_FOR_EACH_DTYPE). A type that is forgotten here fails to compile in instances.h,
 * with an error that names the missing function. */
#define T b1
#define KIND BOOL
#define ARITH uint32_t
#include TEMPLATE
#undef T
#undef KIND
#define T i8
#define KIND INT
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
#undef ARITH
#define ARITH uint64_t
#define T i64
#include TEMPLATE
#undef T
#define T u64
#include TEMPLATE
#undef T
#undef KIND
#undef ARITH
#define KIND FLOAT
#define T f32
#define ARITH f32
#define BITS u32
#include TEMPLATE
#undef T
#undef ARITH
#undef BITS
#define T f64
#define ARITH f64
#define BITS u64
#include TEMPLATE
#undef T
#undef ARITH
#undef BITS
#undef KIND
#define KIND LONG
#define T f80
#define ARITH f80
#include TEMPLATE
#undef T
#undef ARITH
#undef KIND
#define KIND COMPLEX
#define T c64
#define ARITH c64
#define REAL f32
#include TEMPLATE
#undef T
#undef ARITH
#undef REAL
#define T c128
#define ARITH c128
#define REAL f64
#include TEMPLATE
#undef T
#undef ARITH
#undef REAL
#undef KIND
#define KIND TIME
#define T t64
#define ARITH t64
#include TEMPLATE
#undef T
#undef ARITH
#undef KIND
#define KIND PAIR
#define T k32
#define ARITH k32
#define REAL f32
#include TEMPLATE
#undef T
#undef ARITH
#undef REAL
#define T k64
#define ARITH k64
#define REAL f64
#include TEMPLATE
#undef T
#undef ARITH
#undef REAL
#undef KIND
#undef TEMPLATE
