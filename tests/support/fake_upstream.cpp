// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_upstream.h"

#include <utility>

namespace tidemark::tests {

namespace {
constexpr std::uint64_t kGranularity = 2ull << 20;
using Guard = std::lock_guard<std::recursive_mutex>;
std::uint64_t number(auto handle) {
  return static_cast<std::uint64_t>(handle);
}
}  // namespace

void FakeUpstream::fail(Call call, std::uint64_t after, Status status) {
  Guard const guard(mutex_);
  faults_.push_back({call, calls_[static_cast<std::size_t>(call)] + after, status});
}

std::uint64_t FakeUpstream::calls(Call call) const {
  Guard const guard(mutex_);
  return calls_[static_cast<std::size_t>(call)];
}

std::uint64_t FakeUpstream::spent_ns() const {
  Guard const guard(mutex_);
  return spent_ns_;
}

std::uint64_t FakeUpstream::used_bytes() const {
  Guard const guard(mutex_);
  return used_bytes_;
}

void FakeUpstream::set_capacity(std::uint64_t bytes) {
  Guard const guard(mutex_);
  options_.capacity_bytes = bytes;
}

std::vector<std::string> FakeUpstream::violations() const {
  Guard const guard(mutex_);
  return violations_;
}

void FakeUpstream::violation(std::string what) {
  violations_.push_back(std::move(what));
}

FakeUpstream::Status FakeUpstream::counted(Call call) {
  auto const kind = static_cast<std::size_t>(call);
  std::uint64_t const now = calls_[kind]++;
  spent_ns_ += options_.latency_ns[kind];
  Status status = Status::Ok;
  // A fault is gone once its call has come: a long test injects many.
  std::erase_if(faults_, [&](const Fault& fault) {
    if (fault.call != call || fault.at > now) return false;
    if (fault.at == now && status == Status::Ok) status = fault.status;
    return true;
  });
  return status;
}

FakeUpstream::Status FakeUpstream::reserve(std::uint64_t bytes, std::uint64_t* address) {
  Guard const guard(mutex_);
  if (Status const s = counted(Call::Reserve); s != Status::Ok) return s;
  if (bytes == 0 || bytes % kGranularity != 0) violation("reserve: crooked size");
  *address = next_address_;
  next_address_ += bytes + kGranularity;
  reserved_[*address] = bytes;
  return Status::Ok;
}

FakeUpstream::Status FakeUpstream::release(std::uint64_t address, std::uint64_t bytes) {
  Guard const guard(mutex_);
  auto const found = reserved_.find(address);
  if (found == reserved_.end() || found->second != bytes) {
    violation("release: not a reservation");
    return Status::Failed;
  }
  auto const inside = mappings_.lower_bound(address);
  if (inside != mappings_.end() && inside->first < address + bytes) violation("release: something is mapped");
  reserved_.erase(found);
  return Status::Ok;
}

FakeUpstream::Status FakeUpstream::create(std::uint64_t bytes, PageHandle* handle) {
  Guard const guard(mutex_);
  if (Status const s = counted(Call::Create); s != Status::Ok) return s;
  if (bytes == 0 || bytes % kGranularity != 0) violation("create: crooked size");
  if (used_bytes_ + bytes > options_.capacity_bytes) return Status::OutOfMemory;
  used_bytes_ += bytes;
  handles_[next_handle_] = {.bytes = bytes};
  *handle = PageHandle{next_handle_++};
  return Status::Ok;
}

FakeUpstream::Status FakeUpstream::destroy(PageHandle handle) {
  Guard const guard(mutex_);
  if (Status const s = counted(Call::Destroy); s != Status::Ok) return s;
  auto const found = handles_.find(number(handle));
  if (found == handles_.end()) {
    violation("destroy: no such handle");
    return Status::Failed;
  }
  if (found->second.mappings != 0) violation("destroy: the handle is mapped");
  used_bytes_ -= found->second.bytes;
  handles_.erase(found);
  return Status::Ok;
}

FakeUpstream::Status FakeUpstream::map(std::uint64_t address, std::uint64_t bytes, PageHandle handle) {
  Guard const guard(mutex_);
  if (Status const s = counted(Call::Map); s != Status::Ok) return s;
  auto const found = handles_.find(number(handle));
  if (found == handles_.end() || found->second.bytes != bytes) {
    violation("map: not a whole handle");
    return Status::Failed;
  }
  auto range = reserved_.upper_bound(address);
  if (range == reserved_.begin() || address + bytes > (--range)->first + range->second) violation("map: not reserved");
  if (address % kGranularity != 0) violation("map: crooked address");
  auto const next = mappings_.lower_bound(address);
  bool const covers_next = next != mappings_.end() && next->first < address + bytes;
  if (covers_next || mapping_at(address) != nullptr) {
    violation("map: something is mapped there");
    return Status::Failed;
  }
  mappings_[address] = {.bytes = bytes, .handle = number(handle)};
  ++found->second.mappings;
  return Status::Ok;
}

FakeUpstream::Status FakeUpstream::unmap(std::uint64_t address, std::uint64_t bytes) {
  Guard const guard(mutex_);
  if (Status const s = counted(Call::Unmap); s != Status::Ok) return s;
  before_unmap(address, bytes);
  std::uint64_t at = address;
  while (at < address + bytes) {
    auto const found = mappings_.find(at);
    if (found == mappings_.end() || at + found->second.bytes > address + bytes) {
      violation("unmap: not whole mappings");
      return Status::Failed;
    }
    at += found->second.bytes;
    --handles_[found->second.handle].mappings;
    mappings_.erase(found);
  }
  return Status::Ok;
}

FakeUpstream::Status FakeUpstream::set_access(std::uint64_t address, std::uint64_t bytes) {
  Guard const guard(mutex_);
  if (Status const s = counted(Call::SetAccess); s != Status::Ok) return s;
  std::uint64_t at = address;
  while (at < address + bytes) {
    auto const found = mappings_.find(at);
    if (found == mappings_.end() || at + found->second.bytes > address + bytes) {
      violation("set_access: not whole mappings");
      return Status::Failed;
    }
    found->second.access = true;
    at += found->second.bytes;
  }
  return Status::Ok;
}

FakeUpstream::Status FakeUpstream::allocate_block(std::uint64_t bytes, std::uint64_t* address) {
  Guard const guard(mutex_);
  if (Status const s = counted(Call::Allocate); s != Status::Ok) return s;
  if (used_bytes_ + bytes > options_.capacity_bytes) return Status::OutOfMemory;
  used_bytes_ += bytes;
  *address = next_address_;
  next_address_ += (bytes + 2 * kGranularity - 1) / kGranularity * kGranularity;
  blocks_[*address] = bytes;
  return Status::Ok;
}

FakeUpstream::Status FakeUpstream::free_block(std::uint64_t address) {
  Guard const guard(mutex_);
  if (Status const s = counted(Call::Free); s != Status::Ok) return s;
  auto const found = blocks_.find(address);
  if (found == blocks_.end()) {
    violation("free: no such block");
    return Status::Failed;
  }
  before_unmap(address, found->second);
  used_bytes_ -= found->second;
  blocks_.erase(found);
  return Status::Ok;
}

FakeUpstream::Status FakeUpstream::memory(allocator::DeviceMemory* memory) {
  Guard const guard(mutex_);
  *memory = {.free_bytes = options_.capacity_bytes - used_bytes_, .total_bytes = options_.capacity_bytes};
  return Status::Ok;
}

const std::pair<const std::uint64_t, FakeUpstream::Mapping>* FakeUpstream::mapping_at(std::uint64_t address) const {
  auto found = mappings_.upper_bound(address);
  if (found == mappings_.begin()) return nullptr;
  --found;
  return address < found->first + found->second.bytes ? &*found : nullptr;
}

bool FakeUpstream::accessible(std::uint64_t address, std::uint64_t bytes) const {
  Guard const guard(mutex_);
  auto block = blocks_.upper_bound(address);
  if (block != blocks_.begin() && address + bytes <= (--block)->first + block->second) return true;
  for (std::uint64_t at = address; at < address + bytes;) {
    auto const* const mapping = mapping_at(at);
    if (mapping == nullptr || !mapping->second.access) return false;
    at = mapping->first + mapping->second.bytes;
  }
  return true;
}

std::pair<std::uint64_t, std::uint64_t> FakeUpstream::place(std::uint64_t address) const {
  Guard const guard(mutex_);
  auto block = blocks_.upper_bound(address);
  if (block != blocks_.begin() && address < (--block)->first + block->second)
    return {block->first, address - block->first};
  auto const* const mapping = mapping_at(address);
  if (mapping == nullptr || !mapping->second.access) return {};
  return {mapping->second.handle, address - mapping->first};
}

FakeUpstream::Status FakeUpstream::create_event(EventHandle* event) {
  Guard const guard(mutex_);
  *event = EventHandle{next_handle_++};
  return Status::Ok;
}
FakeUpstream::Status FakeUpstream::destroy_event(EventHandle /*event*/) {
  return Status::Ok;
}
FakeUpstream::Status FakeUpstream::record(EventHandle /*event*/, StreamHandle /*stream*/) {
  Guard const guard(mutex_);
  return counted(Call::Record);
}
FakeUpstream::Status FakeUpstream::query(EventHandle /*event*/) {
  return Status::Ok;
}
FakeUpstream::Status FakeUpstream::wait(EventHandle /*event*/) {
  Guard const guard(mutex_);
  return counted(Call::Wait);
}
FakeUpstream::Status FakeUpstream::wait_in_stream(StreamHandle /*stream*/, EventHandle /*event*/) {
  return Status::Ok;
}
FakeUpstream::Status FakeUpstream::synchronize() {
  return Status::Ok;
}
FakeUpstream::Status FakeUpstream::make_stream(StreamHandle* stream) {
  Guard const guard(mutex_);
  *stream = StreamHandle{next_handle_++};
  return Status::Ok;
}
FakeUpstream::Status FakeUpstream::fill(const allocator::Fill& fill, StreamHandle /*stream*/) {
  Guard const guard(mutex_);
  if (!accessible(fill.address, fill.bytes)) violation("fill: memory that is not there");
  if (fill.bytes % sizeof fill.word != 0) violation("fill: a part of a word");
  return counted(Call::Fill);
}

}  // namespace tidemark::tests
