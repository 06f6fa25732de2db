// SPDX-License-Identifier: Apache-2.0
// Objects behind the opaque handles of an API. Any value that a program passes can be checked without touching foreign
// memory: a handle is valid when it points at a live slot. A freed slot rests before it is used again, so that a stale
// handle is told from a new one for a while. Not thread-safe.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <new>
#include <utility>

#include "base/reserved.h"

// Slots lie in memory of our own: without a word the leak checker would take what live objects own for lost.
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#define SOFTGPU_HANDLE_LIVES(object) __lsan_register_root_region(object, sizeof *(object))
#define SOFTGPU_HANDLE_ENDS(object) __lsan_unregister_root_region(object, sizeof *(object))
#else
#define SOFTGPU_HANDLE_LIVES(object) static_cast<void>(0)
#define SOFTGPU_HANDLE_ENDS(object) static_cast<void>(0)
#endif

namespace tidemark::softgpu {

template <class T>
class HandlePool {
 public:
  explicit HandlePool(std::size_t capacity = 1u << 20) : capacity_(capacity), slots_(capacity) {}

  // std::bad_alloc when there are no more.
  template <class... Args>
  T* create(Args&&... args) {
    std::size_t index = 0;
    if (!slots_) throw std::bad_alloc();
    if (spare_.size() > kRest || used_ == capacity_) {
      if (spare_.empty()) throw std::bad_alloc();
      index = spare_.front();
      spare_.pop_front();
    } else {
      index = used_++;
    }
    Slot& slot = slots_[index];
    T* const object = new (slot.bytes) T(std::forward<Args>(args)...);
    slot.live = true;
    ++live_;
    SOFTGPU_HANDLE_LIVES(object);
    return object;
  }

  void destroy(T* object) {
    Slot& slot = slots_[index_of(object)];
    slot.live = false;
    --live_;
    SOFTGPU_HANDLE_ENDS(object);
    object->~T();
    spare_.push_back(index_of(object));
  }

  // The object, or nullptr for anything that is not a live handle.
  T* check(const void* handle) {
    auto const address = reinterpret_cast<std::uintptr_t>(handle);
    auto const begin = reinterpret_cast<std::uintptr_t>(&slots_[0]);
    if (address < begin || (address - begin) % sizeof(Slot) != 0) return nullptr;
    std::size_t const index = (address - begin) / sizeof(Slot);
    if (index >= used_ || !slots_[index].live) return nullptr;
    return std::launder(reinterpret_cast<T*>(slots_[index].bytes));
  }

  std::size_t live() const { return live_; }
  template <class F>
  void for_each(F f) {
    for (std::size_t i = 0; i < used_; ++i)
      if (slots_[i].live) f(*std::launder(reinterpret_cast<T*>(slots_[i].bytes)));
  }

 private:
  static constexpr std::size_t kRest = 256;
  struct Slot {
    alignas(T) std::byte bytes[sizeof(T)];
    bool live;
  };
  std::size_t index_of(const T* object) {
    return static_cast<std::size_t>(reinterpret_cast<const Slot*>(object) - &slots_[0]);
  }

  std::size_t capacity_;
  std::size_t used_ = 0;
  std::size_t live_ = 0;
  ReservedArray<Slot> slots_;
  std::deque<std::size_t> spare_;
};

}  // namespace tidemark::softgpu
