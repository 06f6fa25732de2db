// SPDX-License-Identifier: Apache-2.0
// The kernels for the software device.
#include "tests/conformance/support/kernels_body.h"

#include "softgpu/kernel/register.h"

SOFTGPU_KERNEL(conformance::fill);
SOFTGPU_KERNEL(conformance::add);
SOFTGPU_KERNEL(conformance::copy_words);
SOFTGPU_KERNEL(conformance::count_wrong);
SOFTGPU_KERNEL(conformance::use_record);
SOFTGPU_KERNEL(conformance::scale<float>);
SOFTGPU_KERNEL(conformance::scale<std::uint64_t>);
SOFTGPU_KERNEL(conformance::reverse_blocks);
SOFTGPU_KERNEL(conformance::write_place);
SOFTGPU_LAUNCH_BOUNDS(64, conformance::fill_bounded);
SOFTGPU_KERNEL(conformance::fill_bounded);
SOFTGPU_KERNEL(conformance::trap_when);
SOFTGPU_KERNEL(conformance::assert_when);
SOFTGPU_KERNEL(conformance::store_to);
SOFTGPU_KERNEL(conformance::read_symbols);
SOFTGPU_KERNEL(conformance::write_symbols);
SOFTGPU_KERNEL(ptx_fill);
SOFTGPU_SYMBOL(conformance::device_word);
SOFTGPU_SYMBOL(conformance::device_table);
SOFTGPU_SYMBOL(conformance::constant_table);
SOFTGPU_SYMBOL(conformance::untouched);
