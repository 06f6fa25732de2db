// SPDX-License-Identifier: Apache-2.0
#include "trace/read/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace tidemark::trace {
namespace {

constexpr const char* kHowToRecord = "record one with: tidemark run -o run.tide -- ./program";
// Two clock readings closer than this say less about the rate than the writer's own estimate.
constexpr std::uint64_t kMeasurableNs = 10'000'000;

// Three centuries: beyond it only a damaged file can be.
constexpr double kEndOfTimeNs = 9e18;

Error not_a_trace(const std::string& path, const std::string& why) {
  return {Errc::Corrupt, path + ": not a tidemark trace: " + why, kHowToRecord};
}

double rate(const FileHeader& h) {
  constexpr double kSecond = 1e9;
  if (h.clock != ClockKind::Tsc) return 1;
  if (h.latest.monotonic_ns >= h.begin.monotonic_ns + kMeasurableNs && h.latest.ticks > h.begin.ticks)
    return static_cast<double>(h.latest.monotonic_ns - h.begin.monotonic_ns) /
           static_cast<double>(h.latest.ticks - h.begin.ticks);
  return h.ticks_per_second == 0 ? 1 : kSecond / static_cast<double>(h.ticks_per_second);
}

}  // namespace

Trace::Mapping::~Mapping() {
  if (data != nullptr) munmap(const_cast<std::byte*>(data), bytes);
}

Result<Trace> Trace::open(const std::string& path) {
  int const file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return Error{Errc::NotFound, path + ": " + std::strerror(errno), kHowToRecord};
  struct stat info {};
  bool const known = fstat(file, &info) == 0 && S_ISREG(info.st_mode);
  auto const bytes = known ? static_cast<std::uint64_t>(info.st_size) : 0;
  void* at = MAP_FAILED;
  if (bytes >= sizeof(FileHeader)) at = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  if (!known) return not_a_trace(path, "not a file");
  if (bytes < sizeof(FileHeader)) return not_a_trace(path, "too short");
  if (at == MAP_FAILED) return Error{Errc::Io, path + ": cannot be mapped: " + std::strerror(errno), ""};

  Trace trace;
  trace.path_ = path;
  trace.mapping_ = std::make_unique<Mapping>();
  trace.mapping_->data = static_cast<const std::byte*>(at);
  trace.mapping_->bytes = bytes;
  std::memcpy(&trace.header_, at, sizeof(FileHeader));
  FileHeader const& h = trace.header_;
  if (h.magic != kMagic) return not_a_trace(path, "it begins with other bytes");
  if (h.version != kVersion)
    return Error{
        Errc::Unsupported,
        path + ": a trace of version " + std::to_string(h.version) + ", this program reads " + std::to_string(kVersion),
        "read it with the tidemark that wrote it, or a newer one"};
  if (h.chunk_bytes != kChunkBytes) return not_a_trace(path, "its chunks have an unknown size");
  if (h.header_bytes < sizeof(FileHeader)) trace.header_.ring = {};
  trace.ns_per_tick_ = rate(h);
  trace.find_chunks(std::min(h.chunks, bytes / kChunkBytes));
  return trace;
}

const ChunkHeader& Trace::chunk(std::uint64_t index) const {
  return *reinterpret_cast<const ChunkHeader*>(mapping_->data + index * kChunkBytes);
}

std::span<const Slot> Trace::slots(std::uint64_t index) const {
  return {reinterpret_cast<const Slot*>(&chunk(index) + 1), kChunkSlots};
}

void Trace::find_chunks(std::uint64_t count) {
  std::vector<std::uint64_t> shared, checkpoint, sums;
  for (std::uint64_t i = 1; i < count; ++i) {
    ChunkHeader const& head = chunk(i);
    if (head.magic != kChunkMagic) continue;  // taken, but its thread did not come to write
    if (head.kind == ChunkKind::Events) chunks_.push_back(i);
    if (head.kind == ChunkKind::Shared) shared.push_back(i);
    if (head.kind == ChunkKind::Checkpoint && head.part_of == header_.ring.base) checkpoint.push_back(i);
    if (head.kind == ChunkKind::Sums && head.part_of == header_.ring.sums) sums.push_back(i);
  }
  auto const sort = [this](std::vector<std::uint64_t>& chunks) {
    std::stable_sort(chunks.begin(), chunks.end(),
                     [this](std::uint64_t a, std::uint64_t b) { return chunk(a).sequence < chunk(b).sequence; });
  };
  for (auto* const chunks : {&chunks_, &shared, &checkpoint, &sums}) sort(*chunks);
  for (std::uint64_t const i : shared) names_.add(slots(i).data(), slots(i).data() + kChunkSlots);
  if (header_.ring_bytes != 0) read_past(checkpoint, sums);
}

void Trace::read_past(const std::vector<std::uint64_t>& checkpoint, const std::vector<std::uint64_t>& sums) {
  for (std::uint64_t const i : checkpoint)
    if (header_.ring.base != 0) past_.add_checkpoint(header_.ring.base, slots(i).data(), slots(i).data() + kChunkSlots);
  for (std::uint64_t const i : sums)
    if (header_.ring.sums != 0) past_.add_sums(slots(i).data(), slots(i).data() + kChunkSlots);
  past_.finish();
  std::erase_if(chunks_, [this](std::uint64_t i) { return past_.folded(i, chunk(i).sequence); });
}

ChunkReader Trace::read_chunk(std::size_t i) const {
  std::span<const Slot> const all = chunk_slots(i);
  return {chunk_head(i), all.data(), all.data() + all.size()};
}

void Trace::decode_chunk(std::size_t i, std::vector<Event>& out) const {
  ChunkReader reader = read_chunk(i);
  for (Event e; reader.next(e);) out.push_back(e);
}

std::uint64_t Trace::missing_bytes() const {
  std::uint64_t const chunks = mapping_->bytes / kChunkBytes;
  if (header_.chunks <= chunks) return 0;
  // Nonsense in a damaged header stays below all that a number can say.
  std::uint64_t const whole = std::min(header_.chunks, ~std::uint64_t{0} / kChunkBytes) * kChunkBytes;
  return whole - mapping_->bytes;
}

std::uint64_t Trace::lost_events() const {
  std::uint64_t sum = 0;
  for (std::uint64_t const n : header_.lost) sum += n;
  return sum;
}

std::uint64_t Trace::nanoseconds(std::uint64_t ticks) const {
  if (ticks <= header_.begin.ticks) return 0;
  double const ns = static_cast<double>(ticks - header_.begin.ticks) * ns_per_tick_;
  return ns < kEndOfTimeNs ? static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(kEndOfTimeNs);
}

}  // namespace tidemark::trace
