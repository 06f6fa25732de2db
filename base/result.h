// SPDX-License-Identifier: Apache-2.0
// A value or an error that a person can act on. Nothing throws across a folder boundary.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace tidemark {

enum class Errc : std::uint8_t { InvalidArgument, NotFound, Corrupt, Io, OutOfMemory, Unsupported, LimitExceeded };

// `what` says what went wrong and where; `hint` says the way out (may be empty).
struct Error {
  Errc code = Errc::InvalidArgument;
  std::string what;
  std::string hint;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  bool ok() const { return state_.index() == 0; }
  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const { return *std::get_if<1>(&state_); }
  T value_or(T other) const { return ok() ? value() : std::move(other); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}
  explicit operator bool() const { return !error_; }
  bool ok() const { return !error_; }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace tidemark

#define TIDEMARK_CONCAT_(a, b) a##b
#define TIDEMARK_CONCAT(a, b) TIDEMARK_CONCAT_(a, b)
// TIDEMARK_TRY(auto x, f()); — x is the value, or the enclosing function returns f()'s error.
#define TIDEMARK_TRY(declaration, ...)                                                                                \
  auto TIDEMARK_CONCAT(result_, __LINE__) = (__VA_ARGS__);                                                            \
  if (!TIDEMARK_CONCAT(result_, __LINE__).ok()) return ::tidemark::Error(TIDEMARK_CONCAT(result_, __LINE__).error()); \
  declaration = std::move(TIDEMARK_CONCAT(result_, __LINE__)).value()
