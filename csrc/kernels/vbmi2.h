/* What AVX-512 VBMI2 does better than AVX-512: the compression of bytes in a register.
 * Included after instances.h, inside a wider target region; each kernel here replaces a
 * cell of the table.
 */

/* positions (contract in nonzero.tmpl.h): the places 0 to 63 that a word selects move
 * together in one instruction, are stored as bytes and widened eight at a time, as many
 * as there are: 0.03 ns a bit at a density of 9 % and 0.06 at 50 %, where the table of
 * nonzero.tmpl.h takes 0.06 and 0.10. */
static int64_t
positions_vbmi2(int64_t *restrict to, const uint64_t *restrict word, int64_t n_words,
                int64_t base, int64_t room)
{
    static const uint8_t counting[64] = {
            0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
            16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
            32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
            48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
    const __m512i places = _mm512_loadu_si512(counting);
    int64_t *const start = to;
    int64_t *const end = to + room;
    int64_t i = 0;
    uint8_t found[64];
    for (; i < n_words && end - to >= 64; i++, base += 64) {
        if (word[i] == 0) {
            continue;
        }
        const __m512i bases = _mm512_set1_epi64(base);
        const int n = __builtin_popcountll(word[i]);
        _mm512_storeu_si512(found, _mm512_maskz_compress_epi8(word[i], places));
        for (int k = 0; k < n; k += 8) {
            const __m128i eight = _mm_loadl_epi64((const __m128i *)(void *)(found + k));
            _mm512_storeu_si512(to + k,
                                _mm512_add_epi64(bases, _mm512_cvtepu8_epi64(eight)));
        }
        to += n;
    }
    to += positions_i64(to, word + i, n_words - i, base, end - to);
    return to - start;
}

#undef POSITIONS
#define POSITIONS positions_vbmi2
