/* What kernels and ops of sparse products share: how factors lie before the kernels
 * (spgemm.tmpl.h). */
#ifndef PS_BASE_TERMS_H
#define PS_BASE_TERMS_H

enum {
    /* Terms of a row that are laid side by side before they are added up: from 96 to
     * 256 the squares of five graphs took the same time; ranks grow with the square. */
    PS_FEW_TERMS = 192,
    /* Columns of B that are copied at a time: so many times -1 follow the last one. */
    PS_TERMS_STEP = 8,
    /* Entries of A by which rows of B are asked for ahead: so many times 0 follow its
     * last column, and as many again, for the edges of rows. */
    PS_TERMS_AHEAD = 8
};

#endif
