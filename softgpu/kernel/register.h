// SPDX-License-Identifier: Apache-2.0
// Puts CPU kernel bodies into a kernel library's table, under the name nvcc registers them by:
//   SOFTGPU_KERNEL(vector_add)                 with barriers and warp operations: threads are fibers
//   SOFTGPU_KERNEL(scale<float, 4>)            an instance of a template (it is instantiated by this)
//   SOFTGPU_FLAT_KERNEL(relu)                  promised to have none: a plain loop over the threads
//   SOFTGPU_SERIAL_KERNEL(legacy_scan)         blocks must not run side by side
//   SOFTGPU_LAUNCH_BOUNDS(256, relu)           the __launch_bounds__ of a kernel that is registered below it
//   SOFTGPU_SYMBOL(lookup_table)               a __device__, __constant__ or __managed__ variable
// At namespace scope, in a source file of a target made by softgpu_kernel_library(). One of several overloads is named
// by a cast: SOFTGPU_KERNEL(static_cast<void (*)(int*)>(fill)).
//
// Supported: kernels and variables of external linkage, static ones and ones in unnamed namespaces (names.h says how
// these are matched). Parameters are what CUDA allows: values, no references, 32 764 bytes in all.
#pragma once
#include <array>
#include <cstddef>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "softgpu/kernel/engine/runtime.h"
#include "softgpu/kernel/engine/state.h"
#include "softgpu/kernel/registry.h"

namespace tidemark::softgpu {

// The assembler's own name for a function or variable. Taken where it is written, so it needs neither a dynamic symbol
// (dladdr) nor type information, and it is right for static and unnamed-namespace entities. The compiler must know the
// symbol to be local to the library: build with -fvisibility=hidden, as softgpu_kernel_library() does.
template <auto Entity>
[[gnu::noinline]] const char* assembler_name() {
  const char* text;
#if defined(__x86_64__)
  asm(".pushsection .rodata.softgpu_names,\"a\",@progbits\n1:\t.asciz \"%c1\"\n\t.popsection\n\tleaq 1b(%%rip), %0"
      : "=r"(text)
      : "i"(Entity));
#elif defined(__aarch64__)
  asm(".pushsection .rodata.softgpu_names,\"a\",@progbits\n1:\t.asciz \"%c1\"\n\t.popsection\n"
      "\tadrp %0, 1b\n\tadd %0, %0, :lo12:1b"
      : "=r"(text)
      : "i"(Entity));
#endif
  return text;
}

struct KernelEntry {
  SoftgpuKernel kernel{};
  KernelEntry* next = nullptr;
};
struct SymbolEntry {
  SoftgpuSymbol symbol{};
  SymbolEntry* next = nullptr;
};
// Called by static constructors; the table is built when the device asks for it.
bool add_kernel(KernelEntry& entry, const char* assembler_name);
bool add_symbol(SymbolEntry& entry, const char* assembler_name);

inline constexpr std::size_t kMaxParamBytes = 32764;

// The most threads that a block of this kernel may have.
template <auto F>
inline constexpr unsigned kThreadLimit = 1024;

// Offsets as the ABI lays parameters out: each aligned to its own alignment.
template <class... A>
constexpr std::size_t packed_bytes() {
  std::size_t at = 0;
  ((at = (at + alignof(A) - 1) / alignof(A) * alignof(A) + sizeof(A)), ...);
  return at;
}

template <auto F, unsigned Flags, class Signature = decltype(+F)>
struct Kernel;

template <auto F, unsigned Flags, class... A>
struct Kernel<F, Flags, void (*)(A...) noexcept> : Kernel<F, Flags, void (*)(A...)> {};

template <auto F, unsigned Flags, class... A>
struct Kernel<F, Flags, void (*)(A...)> {
  static_assert((!std::is_reference_v<A> && ...), "a kernel's parameters are values, not references");
  static_assert(packed_bytes<A...>() <= kMaxParamBytes, "a kernel takes at most 32764 bytes of parameters");

  // The bytes of one argument, aligned as its type asks: the caller's need not be.
  template <class T>
  struct Slot {
    alignas(T) std::byte bytes[sizeof(T)];
    const T& value() const { return *reinterpret_cast<const T*>(bytes); }
  };
  using Slots = std::tuple<Slot<A>...>;

  template <std::size_t... I>
  static void fill(Slots& slots, void* const* params, std::index_sequence<I...>) {
    (std::memcpy(std::get<I>(slots).bytes, params[I], sizeof(A)), ...);
  }

  static void thread(void* args) {
    std::apply([](const auto&... slot) { F(slot.value()...); }, *static_cast<const Slots*>(args));
  }

  // The arguments are copied into locals first: then no store of the body can change them, and what depends on them
  // alone is computed once. Everything is inlined, so the loop is the compiler's to vectorise.
  [[gnu::flatten]] static void block_of(A... args) {
    ThreadState& state = *thread_state();
    Index3 const dim = state.block_dim;
    for (unsigned z = 0; z < static_cast<unsigned>(dim.z); ++z)
      for (unsigned y = 0; y < static_cast<unsigned>(dim.y); ++y) {
        state.thread.y = Coord(y);
        state.thread.z = Coord(z);
        for (unsigned x = 0; x < static_cast<unsigned>(dim.x); ++x) {
          state.thread.x = Coord(x);
          F(args...);
        }
      }
  }
  static void block(void* args) {
    std::apply([](const auto&... slot) { block_of(slot.value()...); }, *static_cast<const Slots*>(args));
  }

  static SoftgpuKernelStatus run(const SoftgpuLaunch* launch, void* const* params, std::uint64_t first,
                                 std::uint64_t last) {
    Slots slots;
    fill(slots, params, std::index_sequence_for<A...>{});
    constexpr bool kFlat = (Flags & SOFTGPU_KERNEL_FLAT) != 0;
    return run_blocks(
        {.name = entry.kernel.name, .launch = launch, .body = kFlat ? &block : &thread, .args = &slots, .flat = kFlat},
        first, last);
  }

  // One element too many, so that a kernel without parameters has an array as well.
  static constexpr std::array<SoftgpuParam, sizeof...(A) + 1> param_table{
      SoftgpuParam{.size_bytes = sizeof(A), .align_bytes = alignof(A), .is_pointer = std::is_pointer_v<A>}...,
      SoftgpuParam{}};
  static inline KernelEntry entry{.kernel = {.params = param_table.data(),
                                             .param_count = sizeof...(A),
                                             .max_threads_per_block = kThreadLimit<F>,
                                             .flags = Flags,
                                             .run = &run}};
};

template <auto Address>
struct Symbol {
  using Variable = std::remove_pointer_t<decltype(Address)>;
  static inline SymbolEntry entry{
      .symbol = {.address = const_cast<std::remove_cv_t<Variable>*>(Address), .size_bytes = sizeof(Variable)}};
};

}  // namespace tidemark::softgpu

#define SOFTGPU_JOIN_(a, b) a##b
#define SOFTGPU_JOIN(a, b) SOFTGPU_JOIN_(a, b)
#define SOFTGPU_REGISTER_KERNEL(flags, ...)                                                                        \
  [[maybe_unused]] static bool const SOFTGPU_JOIN(softgpu_kernel_, __COUNTER__) = ::tidemark::softgpu::add_kernel( \
      ::tidemark::softgpu::Kernel<(__VA_ARGS__), flags>::entry, ::tidemark::softgpu::assembler_name<(__VA_ARGS__)>())
#define SOFTGPU_KERNEL(...) SOFTGPU_REGISTER_KERNEL(0u, __VA_ARGS__)
#define SOFTGPU_FLAT_KERNEL(...) SOFTGPU_REGISTER_KERNEL(::SOFTGPU_KERNEL_FLAT, __VA_ARGS__)
#define SOFTGPU_SERIAL_KERNEL(...) SOFTGPU_REGISTER_KERNEL(::SOFTGPU_KERNEL_SERIAL, __VA_ARGS__)
// Said a second time: host compilers have nothing in which __launch_bounds__ could be kept. Before the registration.
#define SOFTGPU_LAUNCH_BOUNDS(threads, ...)                                            \
  static_assert((threads) >= 1 && (threads) <= 1024, "a block has 1 to 1024 threads"); \
  template <>                                                                          \
  inline constexpr unsigned ::tidemark::softgpu::kThreadLimit<(__VA_ARGS__)> = threads
#define SOFTGPU_SYMBOL(...)                                                                                        \
  [[maybe_unused]] static bool const SOFTGPU_JOIN(softgpu_symbol_, __COUNTER__) = ::tidemark::softgpu::add_symbol( \
      ::tidemark::softgpu::Symbol<(&__VA_ARGS__)>::entry, ::tidemark::softgpu::assembler_name<(&__VA_ARGS__)>())
