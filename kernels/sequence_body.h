// SPDX-License-Identifier: Apache-2.0
// Bodies of kernels/sequence.h.
#pragma once
#include <cmath>

#include "kernels/divide.h"
#include "kernels/elementwise_body.h"
#include "kernels/number.h"
#include "kernels/sequence.h"

namespace tidemark::kernels {

template <class T>
__global__ void embed_rows(Embedding shape, const std::int32_t* tokens, const T* table, const T* positions, T* y) {
  each_row(shape.samples * shape.length, [=](std::size_t row) {
    const T* const word = table + static_cast<std::size_t>(tokens[row]) * shape.width;
    const T* const place = positions + row % shape.length * shape.width;
    T* const to = y + row * shape.width;
    lane_each(shape.width, [=](std::size_t c) { to[c] = narrow<T>(widen(word[c]) + widen(place[c])); });
  });
}

// A warp takes 32 channels and goes through all samples and moments in order: two equal tokens never meet.
template <class T>
__global__ void embed_gradients(Embedding shape, const std::int32_t* tokens, const T* dy, float* dtable,
                                float* dpositions) {
  each_row((shape.width + kLanes - 1) / kLanes, [=](std::size_t tile) {
    std::size_t const first = tile * kLanes;
    std::size_t const n = shape.width - first < kLanes ? shape.width - first : kLanes;
    for (std::size_t row = 0; row < shape.samples * shape.length; ++row) {
      float* const word = dtable + static_cast<std::size_t>(tokens[row]) * shape.width + first;
      float* const place = dpositions + row % shape.length * shape.width + first;
      const T* const from = dy + row * shape.width + first;
      lane_each(n, [=](std::size_t c) {
        float const g = widen(from[c]);
        word[c] += g;
        place[c] += g;
      });
    }
  });
}

template <class T>
__global__ void attention_rows(Attention shape, T* scores) {
  each_row(shape.rows, [=](std::size_t row) {
    std::size_t const n = shape.causal ? row % shape.length + 1 : shape.length;
    T* const s = scores + row * shape.length;
    float const top = lane_max(n, [=](std::size_t i) { return widen(s[i]); });
    float const sum = lane_sum(n, [=](std::size_t i) { return expf(widen(s[i]) - top); });
    float const inverse = 1.0f / sum;
    lane_each(shape.length, [=](std::size_t i) { s[i] = narrow<T>(i < n ? expf(widen(s[i]) - top) * inverse : 0.0f); });
  });
}
template <class T>
__global__ void attention_gradients(Attention shape, const T* probabilities, T* gradient, float scale) {
  each_row(shape.rows, [=](std::size_t row) {
    const T* const p = probabilities + row * shape.length;
    T* const g = gradient + row * shape.length;
    float const mean = lane_sum(shape.length, [=](std::size_t i) { return widen(p[i]) * widen(g[i]); });
    lane_each(shape.length, [=](std::size_t i) { g[i] = narrow<T>(widen(p[i]) * (widen(g[i]) - mean) * scale); });
  });
}

template <class T>
__global__ void attention_tile_rows(AttentionTile tile, T* scores, float* logs) {
  each_row(tile.heads * tile.rows, [=](std::size_t row) {
    std::size_t const head = row / tile.rows, at = tile.first_row + row % tile.rows;
    std::size_t const n = tile.causal ? at + 1 : tile.length;
    T* const s = scores + row * tile.length;
    float const top = lane_max(n, [=](std::size_t i) { return widen(s[i]); });
    float const sum = lane_sum(n, [=](std::size_t i) { return expf(widen(s[i]) - top); });
    float const inverse = 1.0f / sum;
    lane_each(tile.length, [=](std::size_t i) { s[i] = narrow<T>(i < n ? expf(widen(s[i]) - top) * inverse : 0.0f); });
    lane_once([=] { logs[head * tile.log_stride + at] = top + logf(sum); });
  });
}
template <class T>
__global__ void attention_tile_repeat(AttentionTile tile, T* scores, const float* logs) {
  each_row(tile.heads * tile.rows, [=](std::size_t row) {
    std::size_t const head = row / tile.rows, at = tile.first_row + row % tile.rows;
    std::size_t const n = tile.causal ? at + 1 : tile.length;
    T* const s = scores + row * tile.length;
    float const log = logs[head * tile.log_stride + at];
    lane_each(tile.length, [=](std::size_t i) { s[i] = narrow<T>(i < n ? expf(widen(s[i]) - log) : 0.0f); });
  });
}

template <class T>
__global__ void attention_tile_drops(AttentionTile tile, Dropout dropout, const T* x, T* y) {
  float const scale = 1.0f / (1.0f - dropout.rate);
  each_row(tile.heads * tile.rows, [=](std::size_t row) {
    std::size_t const head = row / tile.rows, at = tile.first_row + row % tile.rows;
    std::uint64_t const first = dropout.first + (head * tile.log_stride + at) * tile.log_stride;
    std::size_t const begin = row * tile.length;
    lane_each(tile.length, [=](std::size_t i) {
      bool const kept = unit(random_word(dropout.random, first + i)) >= dropout.rate;
      y[begin + i] = narrow<T>(kept ? widen(x[begin + i]) * scale : 0.0f);
    });
  });
}

template <class T>
__global__ void lstm_cells(Cell cell, LstmForward f) {
  each_row(cell.samples, [=](std::size_t s) {
    std::size_t const h = cell.width;
    T* const gates = static_cast<T*>(f.gates) + s * cell.gate_stride;
    const T* const before = static_cast<const T*>(f.cell_before) + s * cell.state_stride;
    T* const after = static_cast<T*>(f.cell) + s * cell.state_stride;
    T* const hidden = static_cast<T*>(f.hidden) + s * cell.state_stride;
    lane_each(h, [=](std::size_t j) {
      auto const sum = [=](std::size_t gate) {
        std::size_t const at = gate * h + j;
        return widen(gates[at]) + f.bias_input[at] + f.bias_state[at];
      };
      float const in = SigmoidMath::value(sum(0)), forget = SigmoidMath::value(sum(1));
      float const candidate = tanhf(sum(2)), out = SigmoidMath::value(sum(3));
      float const state = (cell.first ? 0.0f : forget * widen(before[j])) + in * candidate;
      gates[j] = narrow<T>(in);
      gates[h + j] = narrow<T>(forget);
      gates[2 * h + j] = narrow<T>(candidate);
      gates[3 * h + j] = narrow<T>(out);
      after[j] = narrow<T>(state);
      hidden[j] = narrow<T>(out * tanhf(state));
    });
  });
}
template <class T>
__global__ void lstm_gradients(Cell cell, LstmBackward b) {
  each_row(cell.samples, [=](std::size_t s) {
    std::size_t const h = cell.width;
    const T* const gates = static_cast<const T*>(b.gates) + s * cell.gate_stride;
    const T* const before = static_cast<const T*>(b.cell_before) + s * cell.state_stride;
    const T* const after = static_cast<const T*>(b.cell) + s * cell.state_stride;
    const T* const dhidden = static_cast<const T*>(b.dhidden) + s * cell.state_stride;
    T* const dgates = static_cast<T*>(b.dgates) + s * cell.gate_stride;
    float* const dcell = b.dcell + s * h;
    lane_each(h, [=](std::size_t j) {
      bool const last = b.dhidden_next == nullptr;
      float const in = widen(gates[j]), forget = widen(gates[h + j]);
      float const candidate = widen(gates[2 * h + j]), out = widen(gates[3 * h + j]);
      float const t = tanhf(widen(after[j]));
      float const dh = widen(dhidden[j]) + (last ? 0.0f : b.dhidden_next[s * h + j]);
      float const dc = (last ? 0.0f : dcell[j]) + dh * out * TanhMath::slope(t);
      dgates[j] = narrow<T>(dc * candidate * SigmoidMath::slope(in));
      dgates[h + j] = narrow<T>(cell.first ? 0.0f : dc * widen(before[j]) * SigmoidMath::slope(forget));
      dgates[2 * h + j] = narrow<T>(dc * in * TanhMath::slope(candidate));
      dgates[3 * h + j] = narrow<T>(dh * t * SigmoidMath::slope(out));
      dcell[j] = dc * forget;
    });
  });
}

template <class T>
__global__ void gru_cells(Cell cell, GruForward f) {
  each_row(cell.samples, [=](std::size_t s) {
    std::size_t const h = cell.width;
    T* const gates = static_cast<T*>(f.gates) + s * cell.gate_stride;
    const T* const before = static_cast<const T*>(f.hidden_before) + s * cell.state_stride;
    T* const hidden = static_cast<T*>(f.hidden) + s * cell.state_stride;
    lane_each(h, [=](std::size_t j) {
      auto const from_state = [=](std::size_t gate) {
        return (f.from_state == nullptr ? 0.0f : f.from_state[s * 3 * h + gate * h + j]) + f.bias_state[gate * h + j];
      };
      auto const from_input = [=](std::size_t gate) { return widen(gates[gate * h + j]) + f.bias_input[gate * h + j]; };
      float const reset = SigmoidMath::value(from_input(1) + from_state(0));
      float const keep = SigmoidMath::value(from_input(2) + from_state(1));
      float const share = from_state(2);
      float const candidate = tanhf(from_input(0) + reset * share);
      gates[j] = narrow<T>(candidate);
      gates[h + j] = narrow<T>(reset);
      gates[2 * h + j] = narrow<T>(keep);
      gates[3 * h + j] = narrow<T>(share);
      hidden[j] = narrow<T>((1.0f - keep) * candidate + (cell.first ? 0.0f : keep * widen(before[j])));
    });
  });
}
template <class T>
__global__ void gru_gradients(Cell cell, GruBackward b) {
  each_row(cell.samples, [=](std::size_t s) {
    std::size_t const h = cell.width;
    const T* const gates = static_cast<const T*>(b.gates) + s * cell.gate_stride;
    const T* const before = static_cast<const T*>(b.hidden_before) + s * cell.state_stride;
    const T* const dhidden = static_cast<const T*>(b.dhidden) + s * cell.state_stride;
    T* const dgates = static_cast<T*>(b.dgates) + s * cell.gate_stride;
    float* const next = b.dhidden_next + s * h;
    lane_each(h, [=](std::size_t j) {
      float const candidate = widen(gates[j]), reset = widen(gates[h + j]);
      float const keep = widen(gates[2 * h + j]), share = widen(gates[3 * h + j]);
      float const state = cell.first ? 0.0f : widen(before[j]);
      float const dh = widen(dhidden[j]) + (b.last ? 0.0f : next[j]);
      float const dn = dh * (1.0f - keep) * TanhMath::slope(candidate);
      dgates[j] = narrow<T>(dn);
      dgates[h + j] = narrow<T>(dn * share * SigmoidMath::slope(reset));
      dgates[2 * h + j] = narrow<T>(dh * (state - candidate) * SigmoidMath::slope(keep));
      dgates[3 * h + j] = narrow<T>(dn * reset);
      next[j] = dh * keep;
    });
  });
}

template <class T>
__global__ void last_rows(Embedding shape, const T* x, T* y) {
  each_row(shape.samples, [=](std::size_t s) {
    const T* const from = x + ((s + 1) * shape.length - 1) * shape.width;
    lane_each(shape.width, [=](std::size_t c) { y[s * shape.width + c] = from[c]; });
  });
}
template <class T>
__global__ void last_row_gradients(Embedding shape, const T* dy, T* dx) {
  each_row(shape.samples * shape.length, [=](std::size_t row) {
    bool const last = row % shape.length == shape.length - 1;
    const T* const from = dy + row / shape.length * shape.width;
    T* const to = dx + row * shape.width;
    lane_each(shape.width, [=](std::size_t c) { to[c] = last ? from[c] : narrow<T>(0.0f); });
  });
}

}  // namespace tidemark::kernels
