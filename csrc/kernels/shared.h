/* Grids of a level for which those of a lower one stand, in builds that share kernels
 * (PS_SHARED_KERNELS): their sources ask for nothing that the level alone has, so that
 * the compiler makes of them the same, in wider registers. Products of sparse matrices
 * ask for a number of registers. Such a build is for sanitizers, which would find in
 * them what they find in the kernels below. */
#define scatter_rows_avx2 scatter_rows_baseline
#define plan_rows_avx2 plan_rows_baseline
#define cast_avx2 cast_baseline

#define scatter_rows_avx512 scatter_rows_baseline
#define plan_rows_avx512 plan_rows_baseline
#define cast_avx512 cast_baseline
#define segment_avx512 segment_avx2
#define segment_rows_avx512 segment_rows_avx2
#define scale_avx512 scale_avx2
#define find_checked_avx512 find_checked_avx2
#define deviate_checked_avx512 deviate_checked_avx2
#define exp_avx512 exp_avx2
#define log_avx512 log_avx2
#define meet_groups_avx512 meet_groups_avx2
#define bin_kernels_avx512 bin_kernels_avx2
#define change_avx512 change_avx2
#define spmm_rows_avx512 spmm_rows_avx2
#define spmm_slices_avx512 spmm_slices_avx2
#define spmm_list_avx512 spmm_list_avx2
#define spmm_finish_avx512 spmm_finish_avx2
#define sddmm_avx512 sddmm_avx2
