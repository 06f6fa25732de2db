// SPDX-License-Identifier: Apache-2.0
// Pooling, changes of size, and the joining of channels.
#include "kernels/image.h"

#include "samples/trainer/check.h"
#include "samples/trainer/ops/rules.h"

namespace tidemark::trainer {
namespace {

kernels::Windows pool_windows(const Sizing& s) {
  const Shape &in = s.input(), &out = s.output();
  const Attributes& a = s.node.attributes;
  return {.channels = in.size[0],
          .height = in.size[1],
          .width = in.size[2],
          .size = a.size,
          .stride = a.stride,
          .pad = a.pad,
          .out_height = out.size[1],
          .out_width = out.size[2]};
}
std::vector<Extra> max_pool_extras(const Sizing& s) {
  return {{.size_bytes = s.samples * s.output().elements() * 4}};
}
void max_pool_forward(Call& call) {
  kernels::max_pool_forward(call.stream(), call.type(), pool_windows(call.sizing), call.samples(), call.in[0], call.out,
                            static_cast<std::int32_t*>(call.extra[0]));
}
void max_pool_backward(Call& call) {
  kernels::max_pool_backward(call.stream(), call.type(), pool_windows(call.sizing), call.samples(),
                             static_cast<const std::int32_t*>(call.extra[0]), call.dout, call.din[0]);
}

void mean_pool_forward(Call& call) {
  const Shape& x = call.sizing.input();
  kernels::mean_of_planes(call.stream(), call.type(), call.samples() * x.size[0], x.size[1] * x.size[2], call.in[0],
                          call.out);
}
void mean_pool_backward(Call& call) {
  const Shape& x = call.sizing.input();
  kernels::mean_of_planes_backward(call.stream(), call.type(), call.samples() * x.size[0], x.size[1] * x.size[2],
                                   call.dout, call.din[0]);
}

void upsample_forward(Call& call) {
  const Shape& x = call.sizing.input();
  kernels::upsample_forward(call.stream(), call.type(), call.samples() * x.size[0], x.size[1], x.size[2], call.in[0],
                            call.out);
}
void upsample_backward(Call& call) {
  const Shape& x = call.sizing.input();
  kernels::upsample_backward(call.stream(), call.type(), call.samples() * x.size[0], x.size[1], x.size[2], call.dout,
                             call.din[0]);
}

// The inputs' channels, one after the other, as strips of the output's rows; a row is a sample.
void concat_forward(Call& call) {
  std::size_t const bytes = kernels::type_bytes(call.type()), pitch = call.sizing.output().elements() * bytes;
  std::size_t before = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    std::size_t const width = call.sizing.input(i).elements() * bytes;
    TRAINER_CHECK(cudaMemcpy2DAsync(static_cast<std::byte*>(call.out) + before, pitch, call.in[i], width, width,
                                    call.samples(), cudaMemcpyDeviceToDevice, call.stream()));
    before += width;
  }
}
void concat_backward(Call& call) {
  std::size_t const bytes = kernels::type_bytes(call.type()), pitch = call.sizing.output().elements() * bytes;
  std::size_t before = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    std::size_t const width = call.sizing.input(i).elements() * bytes;
    if (call.din[i] != nullptr)
      TRAINER_CHECK(cudaMemcpy2DAsync(call.din[i], width, static_cast<const std::byte*>(call.dout) + before, pitch,
                                      width, call.samples(), cudaMemcpyDeviceToDevice, call.stream()));
    before += width;
  }
}

kernels::Shortcut shortcut_of(const Sizing& s) {
  const Shape& x = s.input();
  return {.channels = x.size[0],
          .height = x.size[1],
          .width = x.size[2],
          .out_channels = s.output().size[0],
          .stride = s.node.attributes.stride};
}
void shortcut_forward(Call& call) {
  kernels::shortcut_forward(call.stream(), call.type(), shortcut_of(call.sizing), call.samples(), call.in[0], call.out);
}
void shortcut_backward(Call& call) {
  kernels::shortcut_backward(call.stream(), call.type(), shortcut_of(call.sizing), call.samples(), call.dout,
                             call.din[0]);
}

}  // namespace

const Rules kMaxPoolRules{
    .name = "maxpool", .extras = max_pool_extras, .forward = max_pool_forward, .backward = max_pool_backward};
const Rules kMeanPoolRules{.name = "gap", .forward = mean_pool_forward, .backward = mean_pool_backward};
const Rules kUpsampleRules{.name = "upsample", .forward = upsample_forward, .backward = upsample_backward};
const Rules kConcatRules{.name = "concat", .forward = concat_forward, .backward = concat_backward};
const Rules kShortcutRules{.name = "shortcut", .forward = shortcut_forward, .backward = shortcut_backward};

}  // namespace tidemark::trainer
