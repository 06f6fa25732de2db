// SPDX-License-Identifier: Apache-2.0
#include "softgpu/driver/operation.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "softgpu/driver/capture.h"
#include "softgpu/driver/contents.h"
#include "softgpu/driver/copy.h"
#include "softgpu/driver/kernels.h"
#include "softgpu/driver/observe.h"

namespace tidemark::softgpu {
namespace {

// Rows that touch each other are one long row.
void copy_rows(const CopyOp& op, const std::byte* source) {
  auto* const destination = reinterpret_cast<std::byte*>(op.destination);
  bool const one_row = op.height == 1 || (op.source_pitch == op.width && op.destination_pitch == op.width);
  bool const one_slice =
      one_row &&
      (op.depth == 1 || (op.source_slice == op.width * op.height && op.destination_slice == op.width * op.height));
  if (one_slice) {
    std::memmove(destination, source, op.bytes());
    return;
  }
  for (std::uint64_t z = 0; z < op.depth; ++z)
    for (std::uint64_t y = 0; y < op.height; ++y)
      std::memmove(destination + z * op.destination_slice + y * op.destination_pitch,
                   source + z * op.source_slice + y * op.source_pitch, op.width);
}

template <class T>
void fill_rows(const SetOp& op) {
  for (std::uint64_t y = 0; y < op.height; ++y) {
    auto* const row = reinterpret_cast<T*>(op.destination + y * op.pitch);
    if constexpr (sizeof(T) == 1) {
      std::memset(row, static_cast<int>(op.value), op.width);
    } else {
      for (std::uint64_t x = 0; x < op.width; ++x) row[x] = static_cast<T>(op.value);
    }
  }
}

bool word_reached(const WordOp& op) {
  std::uint64_t const all = op.wide ? ~std::uint64_t{0} : 0xFFFFFFFFu;
  std::uint64_t const now = op.wide
                                ? __atomic_load_n(reinterpret_cast<const std::uint64_t*>(op.address), __ATOMIC_ACQUIRE)
                                : __atomic_load_n(reinterpret_cast<const std::uint32_t*>(op.address), __ATOMIC_ACQUIRE);
  switch (op.flags & 3u) {
    case CU_STREAM_WAIT_VALUE_EQ: return now == op.value;
    case CU_STREAM_WAIT_VALUE_AND: return (now & op.value) != 0;
    case CU_STREAM_WAIT_VALUE_NOR: return (~(now | op.value) & all) != 0;
    default:
      // Cyclic comparison: the difference, as a signed number of the word's width, is not negative.
      return op.wide
                 ? static_cast<std::int64_t>(now - op.value) >= 0
                 : static_cast<std::int32_t>(static_cast<std::uint32_t>(now) - static_cast<std::uint32_t>(op.value)) >=
                       0;
  }
}

struct Builder {
  Driver& driver;
  Item item;
  std::vector<Touch> touches;

  void note_touched() {
    for (auto const& device : driver.devices) device->memory->note_touched();
  }

  bool is_mapping(const Touch& range) {
    Block const* const block = driver.blocks.find(range.address);
    return block != nullptr && block->kind == MemoryKind::Mapped;
  }

  // Mapped memory can be unmapped while work on it is queued, and a graph can be launched after its memory has gone:
  // that is the work's error, never a crash of the program. The touches are memory that the device knew. Other memory
  // of the same work is not asked for again: the host may have freed it in this stream's order meanwhile.
  void check_again(bool in_graph) {
    std::vector<Touch> again;
    std::copy_if(touches.begin(), touches.end(), std::back_inserter(again),
                 [&](const Touch& t) { return in_graph || is_mapping(t); });
    if (again.empty()) return;
    item.precheck = [&d = driver, ranges = std::move(again), in_graph] {
      for (Touch const& t : ranges) {
        Place const place = place_of(d, t.address, t.bytes, {.writes = t.writes, .in_graph = in_graph});
        if (place == Place::Invalid || place == Place::Pageable) return static_cast<int>(CUDA_ERROR_ILLEGAL_ADDRESS);
      }
      return 0;
    };
  }

  void operator()(const EmptyOp&) { item.name = "empty"; }

  void operator()(const KernelOp& op) {
    item.kind = ItemKind::Kernel;
    item.name = op.kernel->name.c_str();
    touches = op.touches;
    if (op.fault != CUDA_SUCCESS) {
      item.run = [fault = op.fault] { return static_cast<int>(fault); };
    } else if (!driver.dry_run) {
      item.run = [op] { return static_cast<int>(run_kernel(op)); };
    }
  }

  void operator()(const CopyOp& op) {
    item.kind = ItemKind::Copy;
    item.name = "memcpy";
    auto const span = [&](std::uint64_t pitch, std::uint64_t slice) {
      return (op.depth - 1) * slice + (op.height - 1) * pitch + op.width;
    };
    if (op.bytes() == 0) return;
    Touch const source{.address = op.source, .bytes = span(op.source_pitch, op.source_slice)};
    Touch const destination{
        .address = op.destination, .bytes = span(op.destination_pitch, op.destination_slice), .writes = true};
    if (op.source_is_device && !op.staged) touches.push_back(source);
    if (op.destination_is_device) touches.push_back(destination);
    check_again(op.described != nullptr);
    // In dry run a large copy to the device would only cost host memory: nothing computes with it.
    if (driver.dry_run && op.destination_is_device && op.bytes() > driver.config.dry_copy_limit.n) return;
    note_touched();
    item.run = [op] {
      copy_rows(op, op.staged ? op.staged->data() : reinterpret_cast<const std::byte*>(op.source));
      return 0;
    };
  }

  void operator()(const SetOp& op) {
    item.kind = ItemKind::Set;
    item.name = "memset";
    std::uint64_t const row = op.width * op.element_bytes;
    if (row == 0 || op.height == 0) return;
    touches.push_back({.address = op.destination, .bytes = (op.height - 1) * op.pitch + row, .writes = true});
    check_again(op.in_graph);
    if (driver.dry_run && row * op.height > driver.config.dry_copy_limit.n) return;
    note_touched();
    item.run = [op] {
      op.element_bytes == 1   ? fill_rows<std::uint8_t>(op)
      : op.element_bytes == 2 ? fill_rows<std::uint16_t>(op)
                              : fill_rows<std::uint32_t>(op);
      return 0;
    };
  }

  void operator()(const HostOp& op) {
    item.kind = ItemKind::Host;
    item.name = "host function";
    item.run_always = op.always;
    item.run = [call = op.call] {
      call();
      return 0;
    };
  }

  void operator()(const LibraryOp& op) {
    item.kind = ItemKind::Kernel;
    item.name = op.name;
    touches = op.touches;
    if (driver.dry_run) return;
    // A copy each time: a graph runs it at every launch, and the library may change its arguments.
    item.run = [run = op.run, args = op.args] {
      std::vector<std::byte> own = *args;
      run(own.data());
      return 0;
    };
  }

  void operator()(const MemoryOp& op) {
    item.kind = ItemKind::Memory;
    item.name = op.generation != 0 ? "alloc" : "free";
    item.waits = op.waits;
    if (op.releases) {
      item.run_locked = true;
      item.run = [op, &d = driver] {
        // The end of its context may have been quicker, and another block may be there by now.
        Block* const block = d.blocks.find(op.address);
        if (block != nullptr && block->id == op.frees) release_block(d, block);
        return 0;
      };
      return;
    }
    if (driver.checker == nullptr) return;
    item.run_locked = true;
    item.run = [op, checker = driver.checker] {
      auto const view = Checker::View::Device;
      if (op.overlay) {
        checker->overlay(view, op.address, op.bytes, op.generation, op.frees);
      } else if (op.generation != 0) {
        checker->appear(view, op.address, op.bytes, op.generation);
      } else {
        checker->vanish(view, op.address, op.bytes, op.frees);
      }
      return 0;
    };
  }

  void operator()(const WordOp& op) {
    item.name = op.waits ? "wait value" : "write value";
    touches.push_back({.address = op.address, .bytes = op.wide ? 8u : 4u, .writes = !op.waits});
    check_again(true);
    if (op.waits) {
      // A word that is gone will never be reached: the item's turn comes, and with it its error.
      item.ready = [op, gone = item.precheck] { return gone() != 0 || word_reached(op); };
      return;
    }
    item.run = [op] {
      if (op.wide) {
        __atomic_store_n(reinterpret_cast<std::uint64_t*>(op.address), op.value, __ATOMIC_RELEASE);
      } else {
        __atomic_store_n(reinterpret_cast<std::uint32_t*>(op.address), static_cast<std::uint32_t>(op.value),
                         __ATOMIC_RELEASE);
      }
      return 0;
    };
  }
};

}  // namespace

Item make_item(Driver& driver, const Operation& operation) {
  Builder builder{driver, {}, {}};
  std::visit(builder, operation);
  if (driver.checker != nullptr && !builder.touches.empty()) {
    builder.item.provenance = std::make_unique<Provenance>();
    for (Touch const& touch : builder.touches) driver.checker->note(*builder.item.provenance, touch, builder.item.name);
  }
  builder.item.observed = describe_work(driver, operation);
  return std::move(builder.item);
}

CUresult issue(Call& call, CUstream stream, Operation operation, Ref<Ticket>* ticket) {
  if (is_capturing(stream)) return capture_operation(call, stream, std::move(operation));
  Ref<Ticket> const submitted = call.engine().submit(call.lock, *stream, make_item(call.driver, operation));
  if (ticket != nullptr) *ticket = submitted;
  return CUDA_SUCCESS;
}

CUresult issue_and_wait(Call& call, CUstream stream, Operation operation) {
  if (is_capturing(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  Ref<Ticket> const ticket = call.engine().submit(call.lock, *stream, make_item(call.driver, operation));
  call.engine().wait(call.lock, ticket);
  return static_cast<CUresult>(stream->context->error);
}

}  // namespace tidemark::softgpu
