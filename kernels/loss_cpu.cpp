// SPDX-License-Identifier: Apache-2.0
#include "kernels/loss_body.h"
#include "kernels/register_cpu.h"

namespace k = tidemark::kernels;

TIDEMARK_REGISTER_TYPES(k::cross_entropy_rows);
TIDEMARK_REGISTER_TYPES(k::cross_entropy_gradients);
TIDEMARK_REGISTER_TYPES(k::mask_loss_rows);
TIDEMARK_REGISTER_TYPES(k::mask_loss_gradients);
TIDEMARK_REGISTER_TYPES(k::projection_rows);
TIDEMARK_REGISTER_TYPES(k::projection_gradients);
TIDEMARK_REGISTER_TYPES(k::column_totals);
TIDEMARK_REGISTER_TYPES(k::channel_totals);
TIDEMARK_REGISTER(k::total_of);
TIDEMARK_REGISTER(k::total_in_half);
