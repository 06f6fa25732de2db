// SPDX-License-Identifier: Apache-2.0
#include "kernels/launch_cuda.h"
#include "kernels/sequence_body.h"

namespace tidemark::kernels {

void embed_forward(cudaStream_t stream, Type type, Embedding shape, const std::int32_t* tokens, const void* table,
                   const void* positions, void* y) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(embed_rows<T>, row_blocks(shape.samples * shape.length), stream, shape, tokens,
                    static_cast<const T*>(table), static_cast<const T*>(positions), static_cast<T*>(y));
  });
}
void embed_backward(cudaStream_t stream, Type type, Embedding shape, const std::int32_t* tokens, const void* dy,
                    float* dtable, float* dpositions) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(embed_gradients<T>, row_blocks((shape.width + kLanes - 1) / kLanes), stream, shape, tokens,
                    static_cast<const T*>(dy), dtable, dpositions);
  });
}

void attention_softmax(cudaStream_t stream, Type type, Attention shape, void* scores) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(attention_rows<T>, row_blocks(shape.rows), stream, shape, static_cast<T*>(scores));
  });
}
void attention_softmax_backward(cudaStream_t stream, Type type, Attention shape, const void* probabilities,
                                void* gradient, float scale) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(attention_gradients<T>, row_blocks(shape.rows), stream, shape, static_cast<const T*>(probabilities),
                    static_cast<T*>(gradient), scale);
  });
}

void attention_tile_softmax(cudaStream_t stream, Type type, const AttentionTile& tile, void* scores, float* logs) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(attention_tile_rows<T>, row_blocks(tile.heads * tile.rows), stream, tile, static_cast<T*>(scores),
                    logs);
  });
}
void attention_tile_again(cudaStream_t stream, Type type, const AttentionTile& tile, void* scores, const float* logs) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(attention_tile_repeat<T>, row_blocks(tile.heads * tile.rows), stream, tile, static_cast<T*>(scores),
                    logs);
  });
}

void attention_tile_dropout(cudaStream_t stream, Type type, const AttentionTile& tile, const Dropout& dropout,
                            const void* x, void* y) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(attention_tile_drops<T>, row_blocks(tile.heads * tile.rows), stream, tile, dropout,
                    static_cast<const T*>(x), static_cast<T*>(y));
  });
}

void lstm_forward(cudaStream_t stream, Type type, const Cell& cell, const LstmForward& f) {
  with_type(type,
            [&](auto zero) { TIDEMARK_LAUNCH(lstm_cells<decltype(zero)>, row_blocks(cell.samples), stream, cell, f); });
}
void lstm_backward(cudaStream_t stream, Type type, const Cell& cell, const LstmBackward& b) {
  with_type(type, [&](auto zero) {
    TIDEMARK_LAUNCH(lstm_gradients<decltype(zero)>, row_blocks(cell.samples), stream, cell, b);
  });
}
void gru_forward(cudaStream_t stream, Type type, const Cell& cell, const GruForward& f) {
  with_type(type,
            [&](auto zero) { TIDEMARK_LAUNCH(gru_cells<decltype(zero)>, row_blocks(cell.samples), stream, cell, f); });
}
void gru_backward(cudaStream_t stream, Type type, const Cell& cell, const GruBackward& b) {
  with_type(type, [&](auto zero) {
    TIDEMARK_LAUNCH(gru_gradients<decltype(zero)>, row_blocks(cell.samples), stream, cell, b);
  });
}

void last_moment(cudaStream_t stream, Type type, Embedding shape, const void* x, void* y) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(last_rows<T>, row_blocks(shape.samples), stream, shape, static_cast<const T*>(x),
                    static_cast<T*>(y));
  });
}
void last_moment_backward(cudaStream_t stream, Type type, Embedding shape, const void* dy, void* dx) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(last_row_gradients<T>, row_blocks(shape.samples * shape.length), stream, shape,
                    static_cast<const T*>(dy), static_cast<T*>(dx));
  });
}

}  // namespace tidemark::kernels
