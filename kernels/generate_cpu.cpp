// SPDX-License-Identifier: Apache-2.0
#include "kernels/generate_body.h"
#include "kernels/register_cpu.h"

namespace k = tidemark::kernels;

TIDEMARK_REGISTER(k::fill_elements);
TIDEMARK_REGISTER(k::uniform_elements);
TIDEMARK_REGISTER(k::normal_elements);
TIDEMARK_REGISTER(k::class_elements);
TIDEMARK_REGISTER_TYPES(k::picture_rows);
TIDEMARK_REGISTER_TYPES(k::disk_rows);
TIDEMARK_REGISTER(k::text_samples);
