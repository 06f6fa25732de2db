// SPDX-License-Identifier: Apache-2.0
#include "kernels/register_cpu.h"
#include "kernels/sequence_body.h"

namespace k = tidemark::kernels;

TIDEMARK_REGISTER_TYPES(k::embed_rows);
TIDEMARK_REGISTER_TYPES(k::embed_gradients);
TIDEMARK_REGISTER_TYPES(k::attention_rows);
TIDEMARK_REGISTER_TYPES(k::attention_gradients);
TIDEMARK_REGISTER_TYPES(k::attention_tile_rows);
TIDEMARK_REGISTER_TYPES(k::attention_tile_repeat);
TIDEMARK_REGISTER_TYPES(k::attention_tile_drops);
TIDEMARK_REGISTER_TYPES(k::lstm_cells);
TIDEMARK_REGISTER_TYPES(k::lstm_gradients);
TIDEMARK_REGISTER_TYPES(k::gru_cells);
TIDEMARK_REGISTER_TYPES(k::gru_gradients);
TIDEMARK_REGISTER_TYPES(k::last_rows);
TIDEMARK_REGISTER_TYPES(k::last_row_gradients);
