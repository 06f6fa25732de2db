// SPDX-License-Identifier: Apache-2.0
#include "kernels/normalize_body.h"
#include "kernels/register_cpu.h"

namespace k = tidemark::kernels;

TIDEMARK_REGISTER_TYPES(k::batch_norm_channels);
TIDEMARK_REGISTER_TYPES(k::batch_norm_gradients);
TIDEMARK_REGISTER_TYPES(k::batch_norm_known);
TIDEMARK_REGISTER_TYPES(k::group_norm_groups);
TIDEMARK_REGISTER_TYPES(k::group_norm_gradients);
TIDEMARK_REGISTER_TYPES(k::group_norm_sums);
TIDEMARK_REGISTER_TYPES(k::layer_norm_rows);
TIDEMARK_REGISTER_TYPES(k::layer_norm_gradients);
TIDEMARK_REGISTER_TYPES(k::layer_norm_gamma);
TIDEMARK_REGISTER_TYPES(k::layer_norm_beta);
