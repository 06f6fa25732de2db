// SPDX-License-Identifier: Apache-2.0
// Every store into the file is one after which the program may be killed. Here the file is made read-only while chunks
// change hands; each store faults, is let through by itself, and the trace is read behind it.
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <functional>

#include "tests/unit/trace/ring_plan.h"

namespace tidemark::trace {
namespace {

constexpr std::size_t kPage = 4096;

class StoreWatch {
 public:
  using Look = std::function<void(bool decisive)>;

  StoreWatch(File& file, Look look) : file_(file), look_(std::move(look)) {
    self = this;
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    action.sa_sigaction = [](int, siginfo_t* info, void* context) { self->on_fault(info, context); };
    sigaction(SIGSEGV, &action, &before_[0]);
    action.sa_sigaction = [](int, siginfo_t*, void* context) { self->on_trap(context); };
    sigaction(SIGTRAP, &action, &before_[1]);
  }
  StoreWatch(const StoreWatch&) = delete;
  StoreWatch& operator=(const StoreWatch&) = delete;
  ~StoreWatch() {
    sigaction(SIGSEGV, &before_[0], nullptr);
    sigaction(SIGTRAP, &before_[1], nullptr);
    self = nullptr;
  }

  void begin() {
    for_each_chunk([](std::byte* at) { mprotect(at, kChunkBytes, PROT_READ); });
    decisive_changed();
  }
  void end() {
    for_each_chunk([](std::byte* at) { mprotect(at, kChunkBytes, PROT_READ | PROT_WRITE); });
  }
  std::uint64_t stores = 0;

 private:
  template <class F>
  void for_each_chunk(F f) {
    for (std::uint64_t i = 0; i < file_.header().chunks; ++i) f(chunk(i));
  }
  std::byte* chunk(std::uint64_t i) const {
    return i == 0 ? reinterpret_cast<std::byte*>(&file_.header())
                  : reinterpret_cast<std::byte*>(file_.places().at(static_cast<std::uint32_t>(i)).header);
  }
  static std::uint64_t first_word(const std::byte* chunk) {
    return *reinterpret_cast<const volatile std::uint64_t*>(chunk);
  }
  static std::byte* page_of(std::byte* at) {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(at) / kPage * kPage);
  }

  void on_fault(siginfo_t* info, void* context) {
    auto* const at = static_cast<std::byte*>(info->si_addr);
    std::byte* hit = nullptr;
    for_each_chunk([&](std::byte* c) {
      if (at >= c && at < c + kChunkBytes) hit = c;
    });
    if (hit == nullptr) abort();
    // What lies in a chunk that nobody counts is nobody's business, but for the page where it comes to count again.
    bool const loose = first_word(hit) == 0 && at >= hit + kPage;
    mprotect(page_of(at), kPage, PROT_READ | PROT_WRITE);
    if (loose) return;
    if (pages_ < 2) page_[pages_++] = page_of(at);
    stored_ = at;
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] |= 0x100;  // one instruction
  }

  void on_trap(void* context) {
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~0x100;
    for (; pages_ > 0; --pages_) mprotect(page_[pages_ - 1], kPage, PROT_READ);
    ++stores;
    bool const decisive = decisive_changed();
    look_(decisive || ends_group());
  }
  bool ends_group() const {
    auto const word = reinterpret_cast<std::uintptr_t>(stored_) / kSlotBytes * kSlotBytes;
    return tag_of(*reinterpret_cast<const volatile std::uint64_t*>(word)) == Tag::Folded;
  }

  // The base, the sums that count, and the chunks' first words.
  bool decisive_changed() {
    words_.resize(file_.header().chunks + 1);
    bool any = false;
    auto const see = [&](std::uint64_t& before, std::uint64_t now) {
      any |= before != now;
      std::swap(before, now);
    };
    see(words_[0], file_.header().ring.base ^ file_.header().ring.sums << 32);
    for (std::uint64_t i = 1; i < file_.header().chunks; ++i) {
      bool const counted_before = words_[i] != 0;
      see(words_[i], first_word(chunk(i)));
      if (!counted_before && words_[i] != 0) mprotect(chunk(i), kChunkBytes, PROT_READ);
    }
    return any;
  }

  static inline StoreWatch* self = nullptr;
  File& file_;
  Look look_;
  struct sigaction before_[2]{};
  std::byte* page_[2]{};
  std::byte* stored_ = nullptr;
  int pages_ = 0;
  std::vector<std::uint64_t> words_;
};

TEST(RingStores, TheTraceCanBeReadBehindEveryStore) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "one thread, looked at by a signal handler behind each instruction: nothing for ThreadSanitizer";
#endif
  Folder const folder;
  std::string const path = folder.file("a.tide");
  std::atomic<std::uint64_t> checkpoints{0};
  Watched blocks(checkpoints);
  File& file = make_ring(path, 1 << 20, blocks);
  Performer performer(file, blocks, 1);
  while (checkpoints < 4) performer.act();

  Plan done = performer.plan;
  std::uint64_t decisive = 0, seldom = 0;
  StoreWatch watch(file, [&](bool changed) {
    decisive += changed;
    if (!changed && ++seldom % 499 != 0) return;
    auto const accounts = read_accounts(read_back(path));
    expect_done(done, accounts.at(1));
  });
  // A chunk's last events, and with them the next one's taking, a few times over: checkpoints and sums written anew are
  // among them.
  std::uint64_t const sums = file.header().ring.sums, base = file.header().ring.base;
  std::uint64_t latest = file.header().latest.ticks, since = 0;
  while ((file.header().ring.sums == sums || file.header().ring.base < base + 2) && !HasFailure()) {
    bool const watched = since > 2000 || (performer.plan.done + 1) % 500 == 0;  // of about 2045; a step ends
    done = performer.plan;
    if (watched) watch.begin();
    performer.act();
    if (watched) watch.end();
    since = file.header().latest.ticks == latest ? since + 1 : 0;
    latest = file.header().latest.ticks;
  }
  EXPECT_GT(decisive, 20u);
  EXPECT_GT(watch.stores, 1000u);
}

}  // namespace
}  // namespace tidemark::trace
