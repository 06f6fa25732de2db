// SPDX-License-Identifier: Apache-2.0
// LSTM and GRU: a whole layer over all moments is one op. Parameters: the input's weights [gates][in], the state's
// [gates][width], and a bias for each. What the input gives to all moments' gates is one product, in the place where
// the gates then stand; the state's part follows moment by moment.
#include "kernels/loss.h"
#include "kernels/sequence.h"
#include "samples/trainer/ops/rules.h"

namespace tidemark::trainer {
namespace {

// `gates`: how many of the kept columns the input, and the state, contribute to: 4 of LSTM's 4; 3 of GRU's 4, the input
// to the first three and the state to the last three.
struct Recurrent {
  std::size_t length = 0, in = 0, width = 0, gates = 0;
  std::size_t kept() const { return 4 * width; }  // columns of a moment
  std::size_t given() const { return gates * width; }
  std::size_t state_column() const { return kept() - given(); }  // where the state's columns begin
};
Recurrent recurrent_of(const Sizing& s, std::size_t gates) {
  const Shape &in = s.input(), &out = s.output();
  return {.length = in.size[0], .in = in.size[1], .width = out.size[1], .gates = gates};
}
kernels::Cell cell_of(const Call& call, const Recurrent& r, std::size_t t) {
  return {.samples = call.samples(),
          .width = r.width,
          .gate_stride = r.length * r.kept(),
          .state_stride = r.length * r.width,
          .first = t == 0};
}

// gates = x W', for all moments; by chunks of samples as everywhere.
void input_products(Call& call, const Recurrent& r) {
  each_chunk(call, [&](std::size_t s, std::size_t samples) {
    std::size_t const row = s * r.length;
    call.device.multiply({.rows = samples * r.length,
                          .columns = r.given(),
                          .depth = r.in,
                          .a = at(call, call.in[0], row * r.in),
                          .b = call.weight[0],
                          .c = at(call, call.extra[0], row * r.kept()),
                          .lda = r.in,
                          .ldb = r.in,
                          .ldc = r.kept(),
                          .transpose_b = true,
                          .type = call.type(),
                          .result_type = call.type()});
  });
}

// The gradients of weights, biases and input, once those of all moments' gates are in the workspace.
void close_backward(Call& call, const Recurrent& r, const void* dgates) {
  std::size_t const moment = r.kept();
  bool add_input = call.accumulate[0], add_state = call.accumulate[1];
  each_chunk(call, [&](std::size_t s, std::size_t samples) {
    std::size_t const row = s * r.length;
    if (call.din[0] != nullptr)
      call.device.multiply({.rows = samples * r.length,
                            .columns = r.in,
                            .depth = r.given(),
                            .a = at(call, dgates, row * moment),
                            .b = call.weight[0],
                            .c = at(call, call.din[0], row * r.in),
                            .lda = moment,
                            .ldb = r.in,
                            .ldc = r.in,
                            .type = call.type(),
                            .result_type = call.type()});
    call.device.multiply({.rows = r.given(),
                          .columns = r.in,
                          .depth = samples * r.length,
                          .a = at(call, dgates, row * moment),
                          .b = at(call, call.in[0], row * r.in),
                          .c = call.dparameter[0],
                          .lda = moment,
                          .ldb = r.in,
                          .ldc = r.in,
                          .transpose_a = true,
                          .beta = add_input ? 1.0f : 0.0f,
                          .type = call.type()});
    add_input = true;
  });
  // Each moment's gates with the state before it, sample by sample: between samples there is no such pair.
  if (r.length == 1 && !add_state) call.device.clear(call.dparameter[1], r.given() * r.width * 4);
  for (std::size_t s = 0; s < call.samples() && r.length > 1; ++s) {
    call.device.multiply({.rows = r.given(),
                          .columns = r.width,
                          .depth = r.length - 1,
                          .a = at(call, dgates, (s * r.length + 1) * moment + r.state_column()),
                          .b = at(call, call.out, s * r.length * r.width),
                          .c = call.dparameter[1],
                          .lda = moment,
                          .ldb = r.width,
                          .ldc = r.width,
                          .transpose_a = true,
                          .beta = add_state ? 1.0f : 0.0f,
                          .type = call.type()});
    add_state = true;
  }
  for (std::size_t i : {2, 3})
    kernels::sum_to_channels(call.stream(), call.type(), i == 2 ? dgates : at(call, dgates, r.state_column()),
                             call.dparameter[i],
                             {.shape = {.outer = call.samples() * r.length, .channels = r.given()},
                              .chunk = call.chunk() * r.length,
                              .accumulate = call.accumulate[i],
                              .stride = moment});
}

// ---- LSTM
// ------------------------------------------------------------------------------------------------------------

std::vector<Extra> lstm_extras(const Sizing& s) {
  Recurrent const r = recurrent_of(s, 4);
  std::size_t const rows = s.samples * r.length * kernels::type_bytes(s.type);
  return {{.size_bytes = rows * r.kept()}, {.size_bytes = rows * r.width}};
}
void lstm_forward(Call& call) {
  Recurrent const r = recurrent_of(call.sizing, 4);
  input_products(call, r);
  for (std::size_t t = 0; t < r.length; ++t) {
    void* const gates = at(call, call.extra[0], t * r.kept());
    std::size_t const before = (t == 0 ? 0 : t - 1) * r.width;
    if (t > 0)
      each_chunk(call, [&](std::size_t s, std::size_t samples) {
        call.device.multiply({.rows = samples,
                              .columns = r.given(),
                              .depth = r.width,
                              .a = at(call, call.out, s * r.length * r.width + before),
                              .b = call.weight[1],
                              .c = at(call, gates, s * r.length * r.kept()),
                              .lda = r.length * r.width,
                              .ldb = r.width,
                              .ldc = r.length * r.kept(),
                              .transpose_b = true,
                              .beta = 1,
                              .type = call.type(),
                              .result_type = call.type()});
      });
    kernels::lstm_forward(call.stream(), call.type(), cell_of(call, r, t),
                          {.gates = gates,
                           .bias_input = call.parameter[2],
                           .bias_state = call.parameter[3],
                           .cell_before = at(call, call.extra[1], before),
                           .cell = at(call, call.extra[1], t * r.width),
                           .hidden = at(call, call.out, t * r.width)});
  }
}

// The gates' gradients, what comes back to the state, what comes back to the cell.
struct LstmWorkspace {
  std::size_t gates = 0, state = 0, total = 0;
};
LstmWorkspace lstm_layout(const Sizing& s) {
  Recurrent const r = recurrent_of(s, 4);
  std::size_t const gates = (s.samples * r.length * r.kept() * kernels::type_bytes(s.type) + 255) / 256 * 256;
  std::size_t const state = s.samples * r.width * 4;
  return {.gates = gates, .state = state, .total = gates + 2 * state};
}
std::size_t lstm_workspace(const Sizing& s) {
  return lstm_layout(s).total;
}
void lstm_backward(Call& call) {
  Recurrent const r = recurrent_of(call.sizing, 4);
  LstmWorkspace const layout = lstm_layout(call.sizing);
  auto* const space = static_cast<std::byte*>(call.workspace);
  auto* const dstate = reinterpret_cast<float*>(space + layout.gates);
  auto* const dcell = reinterpret_cast<float*>(space + layout.gates + layout.state);
  for (std::size_t t = r.length; t-- > 0;) {
    std::size_t const before = (t == 0 ? 0 : t - 1) * r.width;
    void* const dgates = at(call, call.workspace, t * r.kept());
    kernels::lstm_backward(call.stream(), call.type(), cell_of(call, r, t),
                           {.gates = at(call, call.extra[0], t * r.kept()),
                            .cell_before = at(call, call.extra[1], before),
                            .cell = at(call, call.extra[1], t * r.width),
                            .dhidden = at(call, call.dout, t * r.width),
                            .dhidden_next = t + 1 == r.length ? nullptr : dstate,
                            .dcell = dcell,
                            .dgates = dgates});
    if (t == 0) break;
    each_chunk(call, [&](std::size_t s, std::size_t samples) {
      call.device.multiply({.rows = samples,
                            .columns = r.width,
                            .depth = r.given(),
                            .a = at(call, dgates, s * r.length * r.kept()),
                            .b = call.weight[1],
                            .c = dstate + s * r.width,
                            .lda = r.length * r.kept(),
                            .ldb = r.width,
                            .ldc = r.width,
                            .type = call.type()});
    });
  }
  close_backward(call, r, call.workspace);
}

// ---- GRU
// -------------------------------------------------------------------------------------------------------------

std::vector<Extra> gru_extras(const Sizing& s) {
  Recurrent const r = recurrent_of(s, 3);
  return {{.size_bytes = s.samples * r.length * r.kept() * kernels::type_bytes(s.type)}};
}
// What the state gives to the gates of one moment.
std::size_t gru_forward_workspace(const Sizing& s) {
  return s.samples * recurrent_of(s, 3).given() * 4;
}
void gru_forward(Call& call) {
  Recurrent const r = recurrent_of(call.sizing, 3);
  auto* const from_state = static_cast<float*>(call.workspace);
  input_products(call, r);
  for (std::size_t t = 0; t < r.length; ++t) {
    std::size_t const before = (t == 0 ? 0 : t - 1) * r.width;
    if (t > 0)
      each_chunk(call, [&](std::size_t s, std::size_t samples) {
        call.device.multiply({.rows = samples,
                              .columns = r.given(),
                              .depth = r.width,
                              .a = at(call, call.out, s * r.length * r.width + before),
                              .b = call.weight[1],
                              .c = from_state + s * r.given(),
                              .lda = r.length * r.width,
                              .ldb = r.width,
                              .ldc = r.given(),
                              .transpose_b = true,
                              .type = call.type()});
      });
    kernels::gru_forward(call.stream(), call.type(), cell_of(call, r, t),
                         {.gates = at(call, call.extra[0], t * r.kept()),
                          .from_state = t == 0 ? nullptr : from_state,
                          .bias_input = call.parameter[2],
                          .bias_state = call.parameter[3],
                          .hidden_before = at(call, call.out, before),
                          .hidden = at(call, call.out, t * r.width)});
  }
}

std::size_t gru_gates_bytes(const Sizing& s) {
  Recurrent const r = recurrent_of(s, 3);
  return (s.samples * r.length * r.kept() * kernels::type_bytes(s.type) + 255) / 256 * 256;
}
std::size_t gru_backward_workspace(const Sizing& s) {
  return gru_gates_bytes(s) + s.samples * recurrent_of(s, 3).width * 4;
}
void gru_backward(Call& call) {
  Recurrent const r = recurrent_of(call.sizing, 3);
  auto* const dstate = reinterpret_cast<float*>(static_cast<std::byte*>(call.workspace) + gru_gates_bytes(call.sizing));
  for (std::size_t t = r.length; t-- > 0;) {
    std::size_t const before = (t == 0 ? 0 : t - 1) * r.width;
    void* const dgates = at(call, call.workspace, t * r.kept());
    kernels::gru_backward(call.stream(), call.type(), cell_of(call, r, t),
                          {.gates = at(call, call.extra[0], t * r.kept()),
                           .hidden_before = at(call, call.out, before),
                           .dhidden = at(call, call.dout, t * r.width),
                           .dhidden_next = dstate,
                           .last = t + 1 == r.length,
                           .dgates = dgates});
    if (t == 0) break;
    // The direct way is in dstate already; the gates' is added.
    each_chunk(call, [&](std::size_t s, std::size_t samples) {
      call.device.multiply({.rows = samples,
                            .columns = r.width,
                            .depth = r.given(),
                            .a = at(call, dgates, s * r.length * r.kept() + r.state_column()),
                            .b = call.weight[1],
                            .c = dstate + s * r.width,
                            .lda = r.length * r.kept(),
                            .ldb = r.width,
                            .ldc = r.width,
                            .beta = 1,
                            .type = call.type()});
    });
  }
  close_backward(call, r, call.workspace);
}

}  // namespace

const Rules kLstmRules{.name = "lstm",
                       .keeps_input = {true, false},
                       .keeps_output = true,
                       .extras = lstm_extras,
                       .backward_workspace = lstm_workspace,
                       .forward = lstm_forward,
                       .backward = lstm_backward};
const Rules kGruRules{.name = "gru",
                      .keeps_input = {true, false},
                      .keeps_output = true,
                      .extras = gru_extras,
                      .forward_workspace = gru_forward_workspace,
                      .backward_workspace = gru_backward_workspace,
                      .forward = gru_forward,
                      .backward = gru_backward};

}  // namespace tidemark::trainer
