/* Stamps what deltas are made and applied with (delta.tmpl.h, delta.h): by item size,
 * since bits are all that counts. Sums exist up to 8 bytes: integers are no wider. */
#include "kernels/stamps.h"

#include "kernels/mask.h"

#include "kernels/delta.h"

#define TEMPLATE "kernels/delta.tmpl.h"
#include "kernels/foreach_size.h"

/* clang-format off */
#define DELTA_INSTANCES(size, ...)                                                      \
    OF_UNIT int64_t NAME(delta_words, move, size)(uint64_t *found, const char *old,     \
                                                  const char *now, int64_t n)           \
    { return delta_words_move##size(found, old, now, n); }                              \
    OF_UNIT int64_t NAME(delta_take, move, size)(enum ps_delta_op op, char *to,         \
                                                 const uint64_t *word, int64_t n_words, \
                                                 const char *old, const char *now)      \
    { switch (op) {                                                                     \
        case PS_DELTA_XOR: return delta_take_move##size(PS_DELTA_XOR, to, word, n_words, old, now); \
        case PS_DELTA_ADD: return delta_take_move##size(PS_DELTA_ADD, to, word, n_words, old, now); \
        default: return delta_take_move##size(PS_DELTA_OVERWRITE, to, word, n_words, old, now); } } \
    OF_UNIT void NAME(delta_pick, move, size)(enum ps_delta_op op, char *to,            \
                                              const uint16_t *at, int64_t n,            \
                                              const char *old, const char *now)         \
    { switch (op) {                                                                     \
        case PS_DELTA_XOR: delta_pick_move##size(PS_DELTA_XOR, to, at, n, old, now); return; \
        case PS_DELTA_ADD: delta_pick_move##size(PS_DELTA_ADD, to, at, n, old, now); return; \
        default: delta_pick_move##size(PS_DELTA_OVERWRITE, to, at, n, old, now); } }    \
    OF_UNIT void NAME(delta_put, move, size)(enum ps_delta_op op, char *target,         \
                                             const int64_t *at, const char *values,     \
                                             int64_t n)                                 \
    { switch (op) {                                                                     \
        case PS_DELTA_XOR: delta_put_move##size(PS_DELTA_XOR, target, at, values, n); return; \
        case PS_DELTA_ADD: delta_put_move##size(PS_DELTA_ADD, target, at, values, n); return; \
        default: delta_put_move##size(PS_DELTA_OVERWRITE, target, at, values, n); } }   \
    OF_UNIT void NAME(delta_meet, move, size)(enum ps_delta_op op, char *to,            \
                                              const char *values, int64_t n)            \
    { switch (op) {                                                                     \
        case PS_DELTA_XOR: delta_meet_move##size(PS_DELTA_XOR, to, values, n); return;  \
        case PS_DELTA_ADD: delta_meet_move##size(PS_DELTA_ADD, to, values, n); return;  \
        default: delta_meet_move##size(PS_DELTA_OVERWRITE, to, values, n); } }          \
    OF_UNIT void NAME(delta_store, move, size)(enum ps_delta_op op, char *to,           \
                                               const char *old, const char *now, int64_t n) \
    { switch (op) {                                                                     \
        case PS_DELTA_XOR: delta_store_move##size(PS_DELTA_XOR, to, old, now, n); return; \
        case PS_DELTA_ADD: delta_store_move##size(PS_DELTA_ADD, to, old, now, n); return; \
        default: delta_store_move##size(PS_DELTA_OVERWRITE, to, old, now, n); } }
PS_FOR_EACH_SIZE(DELTA_INSTANCES, ~)

OF_UNIT void NAME(delta_hash, any, bytes)(uint64_t *sum, const char *bytes, int64_t n_stripes,
                                          const char *ahead, const char *beside)
{ delta_hash(sum, bytes, n_stripes, ahead, beside); }
OF_UNIT void NAME(delta_tally, any, words)(ps_bits *bits, const uint64_t *word, int64_t n_words)
{ delta_tally(bits, word, n_words); }
OF_UNIT void NAME(delta_spread, any, words)(ps_bits *bits, uint16_t *to, const uint64_t *word,
                                            int64_t n_words)
{ delta_spread(bits, to, word, n_words); }
OF_UNIT int64_t NAME(delta_gaps, any, u16)(uint16_t *to, const int64_t *at, int64_t n, int64_t *last)
{ return delta_gaps(to, at, n, last); }
OF_UNIT int64_t NAME(delta_ungap, any, u16)(int64_t *at, const uint16_t *gap, int64_t n, int64_t *last)
{ return delta_ungap(at, gap, n, last); }

#define DELTA_CELL(size, family) [PS_SIZE_##size] = NAME(family, move, size),
const ps_delta_kernels GRID(delta, ISA) = {
    .words = {PS_FOR_EACH_SIZE(DELTA_CELL, delta_words)},
    .take = {PS_FOR_EACH_SIZE(DELTA_CELL, delta_take)},
    .pick = {PS_FOR_EACH_SIZE(DELTA_CELL, delta_pick)},
    .put = {PS_FOR_EACH_SIZE(DELTA_CELL, delta_put)},
    .meet = {PS_FOR_EACH_SIZE(DELTA_CELL, delta_meet)},
    .store = {PS_FOR_EACH_SIZE(DELTA_CELL, delta_store)},
    .hash = NAME(delta_hash, any, bytes),
    .tally = NAME(delta_tally, any, words),
    .spread = NAME(delta_spread, any, words),
    .gaps = NAME(delta_gaps, any, u16),
    .ungap = NAME(delta_ungap, any, u16)};
/* clang-format on */
