// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimize_body.h"
#include "kernels/register_cpu.h"

namespace k = tidemark::kernels;

TIDEMARK_REGISTER(k::sgd_elements);
TIDEMARK_REGISTER(k::momentum_elements);
TIDEMARK_REGISTER(k::adam_elements);
TIDEMARK_REGISTER(k::adam_moment_elements);
TIDEMARK_REGISTER(k::adam_denominators);
TIDEMARK_REGISTER(k::adam_weights);
TIDEMARK_REGISTER(k::adam_small_blocks);
TIDEMARK_REGISTER(k::factor_rows);
TIDEMARK_REGISTER(k::factor_column_sums);
TIDEMARK_REGISTER(k::factor_columns);
TIDEMARK_REGISTER(k::factor_mean);
TIDEMARK_REGISTER(k::factor_lengths);
TIDEMARK_REGISTER(k::factor_weights);
TIDEMARK_REGISTER(k::flag_elements);
