// SPDX-License-Identifier: Apache-2.0
#include "interpose/scope/marks.h"

#include <pthread.h>

#include <algorithm>
#include <mutex>

#include "base/reserved.h"
#include "base/spin_lock.h"
#include "interpose/process/shield.h"
#include "interpose/record/recorder.h"
#include "interpose/record/thread.h"

namespace tidemark::interpose {
namespace {

// Inside "encoder.3", "encoder.3.attn" is its part "attn".
std::string_view part_within(std::string_view outer, std::string_view name) {
  if (!outer.empty() && name.size() > outer.size() + 1 && name.starts_with(outer) && name[outer.size()] == '.')
    name.remove_prefix(outer.size() + 1);
  return name;
}

}  // namespace

// Those of ended threads. They are never unmapped: another thread may still be told to end a range of theirs.
class IdleMarks {
 public:
  constexpr IdleMarks() = default;

  Marks* take() {
    {
      std::scoped_lock const guard(lock_);
      if (!has_key_) has_key_ = pthread_key_create(&key_, give_back) == 0;
    }
    Marks* marks = pop();
    // Pages from the system are zero, which is an empty stack.
    if (marks == nullptr) marks = reinterpret_cast<Marks*>(Reserved::map(sizeof(Marks)).release());
    // Without a key (a program may use them all up) those of ended threads stay where they are.
    if (marks != nullptr && has_key_) pthread_setspecific(key_, marks);
    return marks;
  }

 private:
  Marks* pop() {
    std::scoped_lock const guard(lock_);
    Marks* const marks = first_;
    if (marks != nullptr) first_ = marks->next_idle_;
    return marks;
  }
  static void give_back(void* ended);

  SpinLock lock_;
  bool has_key_ = false;
  pthread_key_t key_ = 0;
  Marks* first_ = nullptr;
};

namespace {
constinit IdleMarks idle;
}

void IdleMarks::give_back(void* ended) {
  auto* const marks = static_cast<Marks*>(ended);
  bool const open = marks->depth_ != 0 || marks->phase_depth_ != 0;
  marks->depth_ = marks->named_ = marks->phase_depth_ = 0;
  // Something may still come, from destructors that run after this one.
  if (open && recording() && this_thread().marks == marks)
    shield([] {
      recorder().leave_layer();
      recorder().phase_changed();
    });
  this_thread().marks = nullptr;
  std::scoped_lock const guard(idle.lock_);
  marks->next_idle_ = idle.first_;
  idle.first_ = marks;
}

Marks* Marks::mine() {
  Marks*& marks = this_thread().marks;
  if (marks == nullptr) marks = idle.take();
  return marks;
}

void Marks::push_layer(std::string_view name, MarkOwner owner) {
  std::size_t const at = depth_++;
  if (at >= kDepth) return;
  std::string_view const outer{text_, at == 0 ? 0 : layers_[at - 1].text_end};
  std::size_t end = outer.size();
  if (!name.empty()) {
    std::string_view const part = part_within(outer, name);
    if (end != 0 && end < kText) text_[end++] = '.';
    std::size_t const fits = std::min(part.size(), kText - end);
    std::copy_n(part.data(), fits, text_ + end);
    end += fits;
  }
  layers_[at] = {.path = 0, .text_end = static_cast<std::uint32_t>(end), .order = order_++, .owner = owner};
}

void Marks::push_phase(trace::Phase phase, MarkOwner owner) {
  std::size_t const at = phase_depth_++;
  if (at < kDepth) phases_[at] = {.phase = phase, .order = order_++, .owner = owner};
}

// What is deeper than the stack has no place of its own: it is taken to be the innermost of whoever asks.
std::size_t Marks::find_layer(MarkOwner owner) const {
  std::size_t i = depth_;
  while (i > 0 && i <= kDepth && layers_[i - 1].owner != owner) --i;
  return i;
}
std::size_t Marks::find_phase(MarkOwner owner) const {
  std::size_t i = phase_depth_;
  while (i > 0 && i <= kDepth && phases_[i - 1].owner != owner) --i;
  return i;
}

// What was opened inside keeps its name. Of what is deeper than the stack, one moves into its last place, as somebody's
// mark without a name.
bool Marks::remove_layer(std::size_t place) {
  if (place == 0) return false;
  if (place < depth_) std::copy(layers_ + place, layers_ + layers(), layers_ + place - 1);
  if (place <= kDepth && depth_ > kDepth) layers_[kDepth - 1].owner = {};
  --depth_;
  if (named_ >= place) --named_;
  return true;
}
bool Marks::remove_phase(std::size_t place) {
  if (place == 0) return false;
  if (place < phase_depth_) std::copy(phases_ + place, phases_ + phases(), phases_ + place - 1);
  if (place <= kDepth && phase_depth_ > kDepth) phases_[kDepth - 1].owner = {};
  --phase_depth_;
  return true;
}

Marks::What Marks::close(MarkOwner owner) {
  std::size_t const layer = find_layer(owner), phase = find_phase(owner);
  // In order of opening, the first being 1; none has 0, and what is deeper than the stack came last.
  auto const order = [](const auto* marks, std::size_t place) {
    return place == 0 ? 0 : place > kDepth ? ~std::uint64_t{0} : marks[place - 1].order + 1;
  };
  if (order(phases_, phase) > order(layers_, layer)) {
    remove_phase(phase);
    return What::Phase;
  }
  return remove_layer(layer) ? What::Layer : What::Nothing;
}

trace::Phase Marks::phase() const {
  return phases() == 0 ? trace::Phase::Other : phases_[phases() - 1].phase;
}

std::uint32_t Marks::path(trace::Dictionary& names) {
  for (; named_ < layers(); ++named_) {
    Layer& layer = layers_[named_];
    std::uint32_t const outer_end = named_ == 0 ? 0 : layers_[named_ - 1].text_end;
    layer.path = named_ == 0 ? 0 : layers_[named_ - 1].path;
    std::uint32_t const begin = outer_end == 0 ? 0 : outer_end + 1;
    if (begin < layer.text_end) layer.path = names.path(layer.path, {text_ + begin, layer.text_end - begin});
  }
  return layers() == 0 ? 0 : layers_[layers() - 1].path;
}

}  // namespace tidemark::interpose
