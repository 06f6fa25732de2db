// SPDX-License-Identifier: Apache-2.0
#include "kernels/image_body.h"
#include "kernels/register_cpu.h"

namespace k = tidemark::kernels;

TIDEMARK_REGISTER_TYPES(k::window_columns);
TIDEMARK_REGISTER_TYPES(k::column_windows);
TIDEMARK_REGISTER_TYPES(k::max_pool_rows);
TIDEMARK_REGISTER_TYPES(k::max_pool_gradients);
TIDEMARK_REGISTER_TYPES(k::plane_means);
TIDEMARK_REGISTER_TYPES(k::plane_mean_gradients);
TIDEMARK_REGISTER_TYPES(k::upsample_rows);
TIDEMARK_REGISTER_TYPES(k::upsample_gradients);
TIDEMARK_REGISTER_TYPES(k::shortcut_rows);
TIDEMARK_REGISTER_TYPES(k::shortcut_gradients);
