// SPDX-License-Identifier: Apache-2.0
// What cuBLASLt does to a product before it is rounded and stored: bias, activation, their gradients.
#pragma once
#include <vector>

#include "softgpu/blas/lt/matmul.h"

namespace tidemark::softgpu::blas {

class EpiloguePass {
 public:
  // turned: the product is computed as its transpose, so that a tile's rows are D's columns.
  EpiloguePass(const Matmul& matmul, std::int64_t batch, bool turned);
  bool has_work() const;
  TileHook hook();
  // Stores the gradients of the bias; once, after the last tile.
  void finish();

 private:
  template <class T>
  void apply(const Tile& tile);
  template <class T>
  T one(T value, std::int64_t row, std::int64_t col);
  template <class T>
  T load_aux(std::int64_t row, std::int64_t col) const;
  bool mask_bit(std::int64_t row, std::int64_t col) const;
  void set_mask_bit(std::int64_t row, std::int64_t col, bool value);
  std::byte* bias_at(std::int64_t index) const;
  std::byte* aux_at(std::int64_t row, std::int64_t col) const;
  void input_gradient(const Operand& operand, bool rows_of_a);

  const Matmul& matmul_;
  Epilogue epilogue_;
  std::int64_t batch_;
  bool turned_;
  std::vector<double> gradient_;  // of the bias, summed over all tiles
};

}  // namespace tidemark::softgpu::blas
