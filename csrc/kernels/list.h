/* Lists: what an index becomes before a kernel of another family sees it.
 *
 * A list is n pairs (offset, source): byte offset into the target and number of the
 * arriving value. source may be absent, then pair i has source number i. Negative
 * indices, modes, masks, tuples, batches and strides have all vanished in it.
 */

/* offset[i] = base + row[i] * step. */
static void
list_place(int64_t *restrict offset, const int64_t *restrict row, int64_t n,
           int64_t step, int64_t base)
{
    if (step > 0 && (step & (step - 1)) == 0) { /* no 64-bit product before AVX-512 */
        const int shift = __builtin_ctzll((uint64_t)step);
        for (int64_t i = 0; i < n; i++) {
            offset[i] = base + (int64_t)((uint64_t)row[i] << shift);
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        offset[i] = base + row[i] * step;
    }
}

/* offset[i] += row[i] * step: the further indices of a tuple. */
static void
list_shift(int64_t *restrict offset, const int64_t *restrict row, int64_t n,
           int64_t step)
{
    for (int64_t i = 0; i < n; i++) {
        offset[i] += row[i] * step;
    }
}

/* offset[i] = base + i * step. */
static void
list_ramp(int64_t *restrict offset, int64_t n, int64_t step, int64_t base)
{
    for (int64_t i = 0; i < n; i++) {
        offset[i] = base + i * step;
    }
}

/* Keep the pairs with 0 <= row[i], in order; the sources written are first + i. Returns
 * their number. May work in place on offset. */
static int64_t
list_keep(int64_t *offset, int64_t *restrict source, const int64_t *restrict row,
          int64_t n, int64_t first)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        offset[kept] = offset[i];
        source[kept] = first + i;
        kept += row[i] >= 0;
    }
    return kept;
}

/* Keep the pairs with low <= offset < high, in order: what one owner of a stretch of
 * the target has to do. source_in may be NULL (source = first + i). offset_out and
 * source_out have room for n + 8 and are not the inputs. Returns their number. A branch
 * for each pair would cost 4 ns on mixed indices, this costs 0.5 and its AVX-512 form
 * 0.15. */
static int64_t
list_filter(int64_t *restrict offset_out, int64_t *restrict source_out,
            const int64_t *restrict offset, const int64_t *restrict source_in,
            int64_t n, int64_t first, int64_t low, int64_t high)
{
    int64_t kept = 0;
    int64_t i = 0;
#if defined(ISA_HAS_AVX512)
    const __m512i lows = _mm512_set1_epi64(low);
    const __m512i width = _mm512_set1_epi64(high - low);
    const __m512i eight = _mm512_set1_epi64(8);
    __m512i source = _mm512_add_epi64(_mm512_set1_epi64(first),
                                      _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
    for (; i + 8 <= n; i += 8) {
        const __m512i at = _mm512_loadu_si512(offset + i);
        const __m512i from = source_in ? _mm512_loadu_si512(source_in + i) : source;
        const __mmask8 mine =
                _mm512_cmplt_epu64_mask(_mm512_sub_epi64(at, lows), width);
        /* Compressed in a register: compress to memory is microcode on Zen 4. */
        _mm512_storeu_si512(offset_out + kept, _mm512_maskz_compress_epi64(mine, at));
        _mm512_storeu_si512(source_out + kept, _mm512_maskz_compress_epi64(mine, from));
        kept += __builtin_popcount(mine);
        source = _mm512_add_epi64(source, eight);
    }
#endif
    for (; i < n; i++) {
        offset_out[kept] = offset[i];
        source_out[kept] = source_in ? source_in[i] : first + i;
        kept += (uint64_t)(offset[i] - low) < (uint64_t)(high - low);
    }
    return kept;
}
