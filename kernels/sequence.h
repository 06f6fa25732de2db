// SPDX-License-Identifier: Apache-2.0
// Kernels on sequences [sample][time][channel]: embeddings, the rows of attention, the cells of LSTM and GRU.
#pragma once
#include "kernels/elementwise.h"
#include "kernels/launch.h"

namespace tidemark::kernels {

struct Embedding {
  std::size_t samples = 0, length = 0, width = 0;
};
// y = table[token] + positions[time]
void embed_forward(cudaStream_t stream, Type type, Embedding shape, const std::int32_t* tokens, const void* table,
                   const void* positions, void* y);
// Adds to both gradients, sample after sample.
void embed_backward(cudaStream_t stream, Type type, Embedding shape, const std::int32_t* tokens, const void* dy,
                    float* dtable, float* dpositions);

// Rows of scores [length] per (sample, head, time), in place: softmax, of the first time + 1 alone if causal.
struct Attention {
  std::size_t rows = 0, length = 0;
  bool causal = false;
};
void attention_softmax(cudaStream_t stream, Type type, Attention shape, void* scores);
// scores' gradient from that of the probabilities, in place.
void attention_softmax_backward(cudaStream_t stream, Type type, Attention shape, const void* probabilities,
                                void* gradient, float scale);

// The same for a tile of the scores, [head][row][length], with rows that begin at `first_row` of each head's. Beside
// the probabilities forward leaves the logarithm of each row's sum of exponentials, logs[head][log_stride]: from it and
// the scores the probabilities are there again.
struct AttentionTile {
  std::size_t heads = 0, rows = 0, first_row = 0;
  std::size_t length = 0;  // columns; of causal attention no further than the tile's last row
  std::size_t log_stride = 0;
  bool causal = false;
};
void attention_tile_softmax(cudaStream_t stream, Type type, const AttentionTile& tile, void* scores, float* logs);
void attention_tile_again(cudaStream_t stream, Type type, const AttentionTile& tile, void* scores, const float* logs);
// Dropout over a tile: an element's place is that in [head][log_stride][log_stride] behind dropout.first. y may be x.
void attention_tile_dropout(cudaStream_t stream, Type type, const AttentionTile& tile, const Dropout& dropout,
                            const void* x, void* y);

// One moment of a recurrent layer for all samples. Strides are from sample to sample, in elements.
struct Cell {
  std::size_t samples = 0, width = 0;
  std::size_t gate_stride = 0, state_stride = 0;
  bool first = false;  // there is no state before it
};
// gates[s]: i, f, g, o; forward turns sums into gates in place. At the first moment what stands for the state before is
// not read, but is an address all the same.
struct LstmForward {
  void* gates = nullptr;
  const float *bias_input = nullptr, *bias_state = nullptr;
  const void* cell_before = nullptr;
  void *cell = nullptr, *hidden = nullptr;
};
void lstm_forward(cudaStream_t stream, Type type, const Cell& cell, const LstmForward& f);
// dhidden_next and dcell: float [sample][width], what comes back from the next moment; dcell is updated in place.
struct LstmBackward {
  const void *gates = nullptr, *cell_before = nullptr, *cell = nullptr, *dhidden = nullptr;
  const float* dhidden_next = nullptr;  // null at the last moment
  float* dcell = nullptr;
  void* dgates = nullptr;
};
void lstm_backward(cudaStream_t stream, Type type, const Cell& cell, const LstmBackward& b);

// gates[s]: n, r, z, and what the state gives to n. from_state: float [sample][r, z, n]. Biases in the same orders.
struct GruForward {
  void* gates = nullptr;
  const float* from_state = nullptr;  // null at the first moment
  const float *bias_input = nullptr, *bias_state = nullptr;
  const void* hidden_before = nullptr;
  void* hidden = nullptr;
};
void gru_forward(cudaStream_t stream, Type type, const Cell& cell, const GruForward& f);
// dhidden_next: float [sample][width]; direct: what goes straight to the state before, in the same place afterwards.
struct GruBackward {
  const void *gates = nullptr, *hidden_before = nullptr, *dhidden = nullptr;
  float* dhidden_next = nullptr;
  bool last = false;
  void* dgates = nullptr;  // n, r, z, and the state's part of n
};
void gru_backward(cudaStream_t stream, Type type, const Cell& cell, const GruBackward& b);

// The last moment of each sample, and its gradient (0 at the others).
void last_moment(cudaStream_t stream, Type type, Embedding shape, const void* x, void* y);
void last_moment_backward(cudaStream_t stream, Type type, Embedding shape, const void* dy, void* dx);

}  // namespace tidemark::kernels
