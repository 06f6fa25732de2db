// SPDX-License-Identifier: Apache-2.0
// walk SEED STEPS: a random walk with the library preloaded. After each call the header of its own trace is compared
// with the device's own books; at the end every event is gone through, and after each call's events what they add up to
// is compared once more, class by class and device by device.
//
// ACCOUNT_SERVED=1: linear and pool memory is served out of physical memory that the device's books show as such. Then
// the walk's own account is what the trace has to say of it, and what is left of the physical books are whole frames.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <tidemark/tidemark.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/bytes.h"
#include "softgpu/interface/softgpu.h"
#include "tests/integration/preload/account/walk.h"
#include "tests/support/replay.h"

namespace {

using tidemark::trace::Class;
using walk::kDevices;

// What the device says of itself.
struct Books {
  std::array<std::array<SoftgpuLive, SOFTGPU_LIVE_CLASSES>, kDevices> live{};
  std::array<std::uint64_t, kDevices> taken_bytes{};  // by everything but contexts
  std::array<bool, kDevices> has_context{};           // without one, nobody can ask what the device has given
  std::array<std::uint64_t, kDevices> graph_bytes{};
  std::array<std::array<std::uint64_t, 2>, kDevices> own_bytes{};  // the walk's: linear, ordered
};

bool is_served() {
  static const char* const served = std::getenv("ACCOUNT_SERVED");
  return served != nullptr && std::strcmp(served, "1") == 0;
}

struct Entry {
  const char* action = "";
  Books books;
};

template <class F>
F device_function(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<F>(dlsym(library, name));
}

Books read_books(const walk::Walk& walk) {
  static auto const live = device_function<decltype(&softgpu_live)>("softgpu_live");
  static auto const info = device_function<decltype(&softgpu_device_info)>("softgpu_device_info");
  Books books;
  for (int d = 0; d < kDevices; ++d) {
    auto const at = static_cast<std::size_t>(d);
    SoftgpuDeviceInfo about{};
    live(d, books.live[at].data(), SOFTGPU_LIVE_CLASSES);
    info(d, &about);
    books.taken_bytes[at] = about.process_bytes - about.context_bytes;
    books.has_context[at] = about.context_bytes != 0;
    cuDeviceGetGraphMemAttribute(d, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &books.graph_bytes[at]);
    books.own_bytes[at] = {walk.own_bytes(d, false), walk.own_bytes(d, true)};
  }
  return books;
}

// The trace's header, as it is at this moment.
const tidemark::trace::FileHeader* map_header() {
  int const file = open(std::getenv("TIDEMARK_OUT"), O_RDONLY | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* const at = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  return at == MAP_FAILED ? nullptr : static_cast<const tidemark::trace::FileHeader*>(at);
}

int mismatches = 0;

void expect(const char* what, int device, const char* action, std::size_t step, std::uint64_t trace,
            std::uint64_t books) {
  if (trace == books || ++mismatches > 10) return;
  std::printf("step %zu (%s): %s of device %d: the trace says %llu, the device %llu\n", step, action, what, device,
              static_cast<unsigned long long>(trace), static_cast<unsigned long long>(books));
}

void compare_header(const tidemark::trace::FileHeader& header, const Entry& entry, std::size_t step) {
  std::uint64_t taken = 0;
  for (std::size_t i = 0; i < kDevices; ++i) {
    if (!entry.books.has_context[i]) return;
    taken += entry.books.taken_bytes[i];
  }
  expect("reserved bytes in the header", -1, entry.action, step, header.totals.reserved_bytes, taken);
}

struct Pair {
  Class ours;
  int theirs;
};
constexpr std::array kPairs{Pair{Class::Array, SOFTGPU_LIVE_ARRAY}, Pair{Class::Pinned, SOFTGPU_LIVE_PINNED},
                            Pair{Class::Registered, SOFTGPU_LIVE_REGISTERED}};
constexpr std::array kServedPairs{Pair{Class::Device, SOFTGPU_LIVE_LINEAR}, Pair{Class::Pool, SOFTGPU_LIVE_POOL}};
constexpr std::uint64_t kFrameBytes = 2 << 20;

// Linear and pool memory: the walk's own account, and where the driver gave every block its own books too.
void compare_own(const tidemark::test::Replay& replay, const Entry& entry, std::size_t step, int d) {
  auto const at = static_cast<std::size_t>(d);
  auto const device = static_cast<std::uint8_t>(d);
  for (std::size_t i = 0; i < kServedPairs.size(); ++i) {
    Pair const& pair = kServedPairs[i];
    const char* const name = tidemark::trace::name(pair.ours).data();
    std::uint64_t const live = replay.live(pair.ours, device).bytes;
    std::uint64_t const books = entry.books.live[at][static_cast<std::size_t>(pair.theirs)].requested_bytes;
    expect(name, d, entry.action, step, live, entry.books.own_bytes[at][i]);
    if (!is_served()) expect(name, d, entry.action, step, live, books);
    if (is_served() && books > live) expect("more than there is: blocks", d, entry.action, step, live, books);
  }
  std::uint64_t const physical = replay.live(Class::Physical, device).bytes;
  std::uint64_t const held = entry.books.live[at][SOFTGPU_LIVE_PHYSICAL].requested_bytes;
  if (!is_served()) return expect("physical", d, entry.action, step, physical, held);
  expect("physical, less whole frames", d, entry.action, step, physical,
         held - (held - physical) / kFrameBytes * kFrameBytes);
}

void compare_events(const tidemark::test::Replay& replay, const Entry& entry, std::size_t step) {
  for (int d = 0; d < kDevices; ++d) {
    auto const at = static_cast<std::size_t>(d);
    auto const device = static_cast<std::uint8_t>(d);
    compare_own(replay, entry, step, d);
    for (Pair const& pair : kPairs)
      expect(tidemark::trace::name(pair.ours).data(), d, entry.action, step, replay.live(pair.ours, device).bytes,
             entry.books.live[at][static_cast<std::size_t>(pair.theirs)].requested_bytes);
    expect("graph", d, entry.action, step, replay.live(Class::Graph, device).bytes, entry.books.graph_bytes[at]);
    if (entry.books.has_context[at])
      expect("reserved bytes", d, entry.action, step, replay.reserved_bytes(device), entry.books.taken_bytes[at]);
  }
  // Of these the device model follows where the memory is, not where the call was made.
  std::uint64_t mapped = 0, managed = 0;
  for (auto const& live : entry.books.live) {
    mapped += live[SOFTGPU_LIVE_MAPPED].requested_bytes;
    managed += live[SOFTGPU_LIVE_MANAGED].requested_bytes;
  }
  std::uint64_t const mapping = replay.live(Class::Mapping).bytes;
  if (is_served()) mapped -= (mapped - mapping) / kFrameBytes * kFrameBytes;
  expect("mapping", -1, entry.action, step, mapping, mapped);
  expect("managed", -1, entry.action, step, replay.live(Class::Managed).bytes, managed);
}

void compare_all(const std::vector<Entry>& log) {
  auto const trace = tidemark::trace::Trace::open(std::getenv("TIDEMARK_OUT"));
  if (!trace.ok()) {
    std::printf("%s\n", trace.error().what.c_str());
    ++mismatches;
    return;
  }
  tidemark::test::Replay replay;
  auto const events = tidemark::test::ordered_events(*trace);
  std::size_t at = 0;
  for (std::size_t step = 1; step < log.size() && mismatches == 0; ++step) {
    for (; at < events.size() && events[at].context.step <= step; ++at) replay.apply(events[at]);
    compare_events(replay, log[step], step);
  }
  for (std::string const& fault : replay.impossible()) std::printf("%s\n", fault.c_str());
  mismatches += static_cast<int>(replay.impossible().size());
  expect("lost events", -1, "all", log.size(), trace->lost_events(), 0);
  expect("allocations", -1, "all", log.size(), trace->header().totals.allocations, replay.allocations());
  expect("frees", -1, "all", log.size(), trace->header().totals.frees, replay.frees());
  expect("live bytes", -1, "all", log.size(), trace->header().totals.live_bytes, replay.live_on_device_bytes());
}

}  // namespace

int main(int, char** argv) {
  walk::Walk walk(std::strtoull(argv[1], nullptr, 10));
  auto const steps = std::strtoull(argv[2], nullptr, 10);
  std::vector<Entry> log(1);
  const tidemark::trace::FileHeader* header = nullptr;
  while (log.size() <= steps && mismatches == 0) {
    tidemark_step(log.size());
    Entry entry{.action = walk.step()};
    entry.books = read_books(walk);
    if (header == nullptr) header = map_header();
    if (header != nullptr) compare_header(*header, entry, log.size());
    log.push_back(entry);
  }
  if (header == nullptr) {
    std::puts("there is no trace");
    return 2;
  }
  compare_all(log);
  for (auto const& [name, count] : walk.counts()) std::printf("%s: %d of %d\n", name.c_str(), count.well, count.tried);
  return mismatches == 0 ? 0 : 1;
}
