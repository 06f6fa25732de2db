// SPDX-License-Identifier: Apache-2.0
#include "softgpu/blas/lt/epilogue.h"

#include <cmath>

namespace tidemark::softgpu::blas {
namespace {

constexpr std::uint32_t kAux = 128, kBiasGradient = 16;

// The tanh form, which is the one that cuBLASLt computes.
constexpr double kSqrt2OverPi = 0.7978845608028653558798921198687637369517, kCubic = 0.044715;
template <class T>
T gelu(T x) {
  double const v = static_cast<double>(x);
  return static_cast<T>(0.5 * v * (1 + std::tanh(kSqrt2OverPi * (v + kCubic * v * v * v))));
}
template <class T>
T gelu_slope(T x) {
  double const v = static_cast<double>(x);
  double const t = std::tanh(kSqrt2OverPi * (v + kCubic * v * v * v));
  return static_cast<T>(0.5 * (1 + t) + 0.5 * v * (1 - t * t) * kSqrt2OverPi * (1 + 3 * kCubic * v * v));
}

}  // namespace

Epilogue epilogue_of(std::uint32_t code) {
  return {.bias = (code & CUBLASLT_EPILOGUE_BIAS) != 0,
          .relu = (code & CUBLASLT_EPILOGUE_RELU) != 0,
          .gelu = (code & CUBLASLT_EPILOGUE_GELU) != 0,
          .drelu = (code & (CUBLASLT_EPILOGUE_DRELU & ~kAux)) != 0,
          .dgelu = (code & (CUBLASLT_EPILOGUE_DGELU & ~kAux)) != 0,
          .bias_gradient = (code & kBiasGradient) != 0,
          .aux_out = (code & kAux) != 0 && (code & (CUBLASLT_EPILOGUE_RELU | CUBLASLT_EPILOGUE_GELU)) != 0,
          .gradient_a = code == CUBLASLT_EPILOGUE_BGRADA,
          .gradient_b = code == CUBLASLT_EPILOGUE_BGRADB};
}

bool is_epilogue(std::uint32_t code) {
  for (std::uint32_t const known :
       {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU_AUX, CUBLASLT_EPILOGUE_BIAS,
        CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_RELU_AUX_BIAS, CUBLASLT_EPILOGUE_DRELU,
        CUBLASLT_EPILOGUE_DRELU_BGRAD, CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_AUX, CUBLASLT_EPILOGUE_GELU_BIAS,
        CUBLASLT_EPILOGUE_GELU_AUX_BIAS, CUBLASLT_EPILOGUE_DGELU, CUBLASLT_EPILOGUE_DGELU_BGRAD,
        CUBLASLT_EPILOGUE_BGRADA, CUBLASLT_EPILOGUE_BGRADB})
    if (code == known) return true;
  return false;
}

bool needs_aux(const Epilogue& e) {
  return e.aux_out || e.drelu || e.dgelu;
}
bool needs_bias(const Epilogue& e) {
  return e.bias || e.bias_gradient || e.gradient_a || e.gradient_b;
}

EpiloguePass::EpiloguePass(const Matmul& matmul, std::int64_t batch, bool turned)
    : matmul_(matmul), epilogue_(epilogue_of(matmul.desc.epilogue)), batch_(batch), turned_(turned) {
  if (epilogue_.bias_gradient) gradient_.assign(static_cast<std::size_t>(matmul.rows()), 0.0);
}

bool EpiloguePass::has_work() const {
  return matmul_.desc.epilogue != CUBLASLT_EPILOGUE_DEFAULT || matmul_.alpha_vector != nullptr;
}

TileHook EpiloguePass::hook() {
  if (!has_work()) return {};
  return {.apply =
              [](void* self, const Tile& tile) {
                auto& pass = *static_cast<EpiloguePass*>(self);
                tile.is_double ? pass.apply<double>(tile) : pass.apply<float>(tile);
              },
          .state = this};
}

template <class T>
void EpiloguePass::apply(const Tile& tile) {
  auto* const data = static_cast<T*>(tile.data);
  for (std::int64_t j = 0; j < tile.cols; ++j)
    for (std::int64_t i = 0; i < tile.rows; ++i) {
      std::int64_t const row = turned_ ? tile.col + j : tile.row + i;
      std::int64_t const col = turned_ ? tile.row + i : tile.col + j;
      T& value = data[i + j * tile.ld];
      value = one(value, row, col);
      if (epilogue_.bias_gradient) gradient_[static_cast<std::size_t>(row)] += static_cast<double>(value);
    }
}

template <class T>
T EpiloguePass::one(T value, std::int64_t row, std::int64_t col) {
  if (matmul_.alpha_vector != nullptr) {
    auto const scale = static_cast<cudaDataType>(matmul_.desc.scale);
    auto const index = static_cast<std::size_t>(row + batch_ * matmul_.desc.alpha_stride);
    value *= load_as<T>(scale, static_cast<const std::byte*>(matmul_.alpha_vector) + index * type_bytes(scale));
  }
  if (epilogue_.bias) value += load_as<T>(matmul_.bias_type(), bias_at(row));
  if (epilogue_.relu) {
    if (epilogue_.aux_out) set_mask_bit(row, col, value > T{});
    return value < T{} ? T{} : value;  // NaN stays
  }
  if (epilogue_.gelu) {
    if (epilogue_.aux_out) store_as(matmul_.aux_type(), value, aux_at(row, col));
    return gelu(value);
  }
  if (epilogue_.drelu) return mask_bit(row, col) ? value : T{};
  if (epilogue_.dgelu) return value * gelu_slope(load_as<T>(matmul_.aux_type(), aux_at(row, col)));
  return value;
}

std::byte* EpiloguePass::bias_at(std::int64_t index) const {
  auto const at = static_cast<std::size_t>(index + batch_ * matmul_.desc.bias_stride);
  return static_cast<std::byte*>(matmul_.desc.bias) + at * type_bytes(matmul_.bias_type());
}
std::byte* EpiloguePass::aux_at(std::int64_t row, std::int64_t col) const {
  auto const at = static_cast<std::size_t>(row + col * matmul_.desc.aux_ld + batch_ * matmul_.desc.aux_stride);
  return static_cast<std::byte*>(matmul_.desc.aux) + at * type_bytes(matmul_.aux_type());
}

// The mask of a ReLU: one bit per element, leading dimension and batch stride in bits.
bool EpiloguePass::mask_bit(std::int64_t row, std::int64_t col) const {
  std::int64_t const bit = row + col * matmul_.desc.aux_ld + batch_ * matmul_.desc.aux_stride;
  return (static_cast<const std::uint8_t*>(matmul_.desc.aux)[bit / 8] >> (bit % 8) & 1) != 0;
}
void EpiloguePass::set_mask_bit(std::int64_t row, std::int64_t col, bool value) {
  std::int64_t const bit = row + col * matmul_.desc.aux_ld + batch_ * matmul_.desc.aux_stride;
  auto& byte = static_cast<std::uint8_t*>(matmul_.desc.aux)[bit / 8];
  auto const mask = static_cast<std::uint8_t>(1u << (bit % 8));
  byte = static_cast<std::uint8_t>(value ? byte | mask : byte & ~mask);
}

// The sum of op(A)'s columns, or of op(B)'s rows.
void EpiloguePass::input_gradient(const Operand& operand, bool of_a) {
  auto const& layout = operand.layout;
  auto const type = static_cast<cudaDataType>(layout.type);
  auto const op = of_a ? matmul_.desc.transa : matmul_.desc.transb;
  std::int64_t const length = of_a ? matmul_.rows() : matmul_.cols();
  auto const* const data = static_cast<const std::byte*>(matrix_in_batch(operand, batch_));
  // Along which stored dimension the length runs: op(A) has it in rows, op(B) in columns.
  bool const length_in_rows = of_a == (op == CUBLAS_OP_N);
  for (std::int64_t i = 0; i < length; ++i) {
    double sum = 0;
    for (std::int64_t p = 0; p < matmul_.depth(); ++p) {
      std::int64_t const row = length_in_rows ? i : p, col = length_in_rows ? p : i;
      std::int64_t const at = layout.order == CUBLASLT_ORDER_COL ? row + col * layout.ld : col + row * layout.ld;
      sum += load_as<double>(type, data + static_cast<std::size_t>(at) * type_bytes(type));
    }
    store_as(matmul_.bias_type(), sum, bias_at(i));
  }
}

void EpiloguePass::finish() {
  for (std::size_t i = 0; i < gradient_.size(); ++i)
    store_as(matmul_.bias_type(), gradient_[i], bias_at(static_cast<std::int64_t>(i)));
  if (epilogue_.gradient_a) input_gradient(matmul_.a, true);
  if (epilogue_.gradient_b) input_gradient(matmul_.b, false);
}

}  // namespace tidemark::softgpu::blas
