// SPDX-License-Identifier: Apache-2.0
// Attention that keeps a number per row of scores instead of the row: the logarithm of its sum of exponentials. Scores
// are made for some rows of all heads of one sample at a time, and made once more in the backward pass. Gradients of
// keys and values are sums over such tiles, in float whatever the activations are.
#include "kernels/elementwise.h"
#include "kernels/sequence.h"
#include "samples/trainer/ops/heads.h"
#include "samples/trainer/ops/rules.h"

namespace tidemark::trainer {
namespace {

constexpr std::size_t kTileRows = 32;

std::size_t tile_bytes(const Sizing& s) {
  Heads const h = heads_of(s);
  return (h.heads * std::min(kTileRows, h.length) * h.length * kernels::type_bytes(s.type) + 255) / 256 * 256;
}
std::vector<Extra> extras(const Sizing& s) {
  Heads const h = heads_of(s);
  return {{.size_bytes = s.samples * h.heads * h.length * 4}};
}
// Probabilities and their gradient; in 16 bits also the sums for keys and values of a sample.
std::size_t backward_workspace(const Sizing& s) {
  Heads const h = heads_of(s);
  return 2 * tile_bytes(s) + (s.type == Type::F32 ? 0 : h.length * 2 * h.width * 4);
}

// A tile of one sample: its addresses and the products that have to do with it.
class Tile {
 public:
  Tile(Call& call, std::size_t sample, std::size_t first)
      : call_(call), h_(heads_of(call.sizing)), sample_(sample), row_(3 * h_.width) {
    tile_ = {.heads = h_.heads,
             .rows = std::min(kTileRows, h_.length - first),
             .first_row = first,
             .length = h_.length,
             .log_stride = h_.length,
             .causal = call.node().attributes.causal};
    if (tile_.causal) tile_.length = first + tile_.rows;
  }
  const kernels::AttentionTile& shape() const { return tile_; }
  float* logs() const { return static_cast<float*>(call_.extra[0]) + sample_ * h_.heads * h_.length; }

  // part: 0 queries of the tile's rows, 1 keys, 2 values
  const void* input(std::size_t part) const { return of_sample(call_.in[0], part); }
  void* gradient(std::size_t part) const { return of_sample(call_.din[0], part); }
  void* output() const { return at(call_, call_.out, rows_before() * h_.width); }
  const void* doutput() const { return at(call_, call_.dout, rows_before() * h_.width); }

  // scores [rows][length] = left [rows][part] right [length][part]'
  void to_scores(const void* left, std::size_t left_stride, const void* right, float scale, void* scores) const {
    Product p = base();
    p.rows = tile_.rows, p.columns = tile_.length, p.depth = h_.part, p.alpha = scale;
    p.a = left, p.lda = left_stride, p.stride_a = h_.part;
    p.b = right, p.ldb = row_, p.stride_b = h_.part, p.transpose_b = true;
    p.c = scores, p.ldc = tile_.length, p.stride_c = tile_.rows * tile_.length;
    call_.device.multiply(p);
  }
  // to [rows][part] = scores [rows][length] right [length][part]
  void from_scores(const void* scores, const void* right, void* to, std::size_t to_stride) const {
    Product p = base();
    p.rows = tile_.rows, p.columns = h_.part, p.depth = tile_.length;
    p.a = scores, p.lda = tile_.length, p.stride_a = tile_.rows * tile_.length;
    p.b = right, p.ldb = row_, p.stride_b = h_.part;
    p.c = to, p.ldc = to_stride, p.stride_c = h_.part;
    call_.device.multiply(p);
  }
  // sums [length][part] += scores' [length][rows] right [rows][part]
  void add_from_scores(const void* scores, const void* right, std::size_t right_stride, void* sums,
                       std::size_t sums_stride) const {
    Product p = base();
    p.rows = tile_.length, p.columns = h_.part, p.depth = tile_.rows, p.beta = 1;
    p.a = scores, p.lda = tile_.length, p.stride_a = tile_.rows * tile_.length, p.transpose_a = true;
    p.b = right, p.ldb = right_stride, p.stride_b = h_.part;
    p.c = sums, p.ldc = sums_stride, p.stride_c = h_.part, p.result_type = Type::F32;
    call_.device.multiply(p);
  }

 private:
  std::size_t rows_before() const { return sample_ * h_.length + tile_.first_row; }
  template <class Pointer>
  Pointer of_sample(Pointer base, std::size_t part) const {
    std::size_t const begin = sample_ * h_.length + (part == 0 ? tile_.first_row : 0);
    return at(call_, base, begin * row_ + part * h_.width);
  }
  Product base() const { return {.type = call_.type(), .result_type = call_.type(), .count = h_.heads}; }

  Call& call_;
  Heads h_;
  std::size_t sample_, row_;
  kernels::AttentionTile tile_;
};

template <class F>
void each_tile(Call& call, std::size_t sample, F f) {
  for (std::size_t first = 0; first < heads_of(call.sizing).length; first += kTileRows) f(Tile(call, sample, first));
}

void forward(Call& call) {
  Heads const h = heads_of(call.sizing);
  for (std::size_t s = 0; s < call.samples(); ++s)
    each_tile(call, s, [&](const Tile& tile) {
      tile.to_scores(tile.input(0), 3 * h.width, tile.input(1), score_scale(h), call.workspace);
      kernels::attention_tile_softmax(call.stream(), call.type(), tile.shape(), call.workspace, tile.logs());
      if (drops_scores(call))
        kernels::attention_tile_dropout(call.stream(), call.type(), tile.shape(), dropout_of_scores(call, s),
                                        call.workspace, call.workspace);
      tile.from_scores(call.workspace, tile.input(2), tile.output(), h.width);
    });
}

void backward(Call& call) {
  Heads const h = heads_of(call.sizing);
  bool const is_float = call.type() == Type::F32;
  std::size_t const row = 3 * h.width, space = tile_bytes(call.sizing);
  void* const probabilities = call.workspace;
  void* const gradients = static_cast<std::byte*>(call.workspace) + space;
  auto* const sums = reinterpret_cast<float*>(static_cast<std::byte*>(call.workspace) + 2 * space);
  if (is_float) call.device.clear(call.din[0], call.samples() * h.length * row * 4);
  for (std::size_t s = 0; s < call.samples(); ++s) {
    if (!is_float) call.device.clear(sums, h.length * 2 * h.width * 4);
    each_tile(call, s, [&](const Tile& tile) {
      std::size_t const stride = is_float ? row : 2 * h.width;
      void* const to_keys = is_float ? tile.gradient(1) : sums;
      void* const to_values = is_float ? tile.gradient(2) : sums + h.width;
      tile.to_scores(tile.input(0), row, tile.input(1), score_scale(h), probabilities);
      kernels::attention_tile_again(call.stream(), call.type(), tile.shape(), probabilities, tile.logs());
      const void* left = probabilities;  // what dropout has left of them, until the second tile is needed
      if (drops_scores(call)) {
        kernels::attention_tile_dropout(call.stream(), call.type(), tile.shape(), dropout_of_scores(call, s),
                                        probabilities, gradients);
        left = gradients;
      }
      tile.add_from_scores(left, tile.doutput(), h.width, to_values, stride);
      tile.to_scores(tile.doutput(), h.width, tile.input(2), 1.0f, gradients);
      if (drops_scores(call))
        kernels::attention_tile_dropout(call.stream(), call.type(), tile.shape(), dropout_of_scores(call, s), gradients,
                                        gradients);
      kernels::attention_softmax_backward(call.stream(), call.type(),
                                          {.rows = h.heads * tile.shape().rows, .length = tile.shape().length},
                                          probabilities, gradients, score_scale(h));
      tile.from_scores(gradients, tile.input(1), tile.gradient(0), row);
      tile.add_from_scores(gradients, tile.input(0), row, to_keys, stride);
    });
    if (!is_float)
      kernels::narrow_rows(call.stream(), call.type(),
                           {.rows = h.length, .width = 2 * h.width, .from_stride = 2 * h.width, .to_stride = row}, sums,
                           at(call, call.din[0], s * h.length * row + h.width));
  }
}

}  // namespace

const Rules kEfficientAttentionRules{.name = "attention",
                                     .keeps_input = {true, false},
                                     .extras = extras,
                                     .forward_workspace = tile_bytes,
                                     .backward_workspace = backward_workspace,
                                     .forward = forward,
                                     .backward = backward};

}  // namespace tidemark::trainer
