// SPDX-License-Identifier: Apache-2.0
// A counted reference for small shared objects: the count lives in the object, so a handle is one pointer wide.
#pragma once
#include <atomic>
#include <cstdint>
#include <utility>

namespace tidemark {

class Counted {
 public:
  Counted() = default;
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  template <class T>
  friend class Ref;
  std::atomic<std::uint32_t> references_{0};
};

template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) : object_(object) { take(); }
  Ref(const Ref& other) : object_(other.object_) { take(); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr && object_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete object_;
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }

 private:
  void take() {
    if (object_ != nullptr) object_->references_.fetch_add(1, std::memory_order_relaxed);
  }
  T* object_ = nullptr;
};

template <class T, class... Args>
Ref<T> make_ref(Args&&... args) {
  return Ref<T>(new T(std::forward<Args>(args)...));
}

}  // namespace tidemark
