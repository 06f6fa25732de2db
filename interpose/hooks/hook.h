// SPDX-License-Identifier: Apache-2.0
// How hooks are made. A hook has the signature of the function that it stands in for (declared.h), calls that function
// once with the program's own arguments (and again where it found no memory and a cache has given some back), and
// gives back its result untouched. What it learns it tells the recorder, behind the shield.
//
// While the real function runs no lock is held and nothing of ours is on the stack that would have to be cleaned up:
// the program may throw, be cancelled or jump through it (but for an allocation under a limit, which holds a pass:
// limit/gate.h). (After a jump out of a free that was not carried out, the
// block is only known to be live; freeing it later is not seen.)
#pragma once
#include "interpose/hooks/declared.h"
#include "interpose/limit/gate.h"
#include "interpose/process/process.h"
#include "interpose/real/driver.h"
#include "interpose/record/devices.h"
#include "interpose/record/recorder.h"

// The definition of a hook: TIDEMARK_HOOK(cuMemAlloc_v2)(CUdeviceptr* out, size_t bytes) { ... }
#define TIDEMARK_HOOK(symbol) extern "C" __attribute__((visibility("hidden"))) CUresult tidemark_hook_##symbol

namespace tidemark::interpose {

// What is asked for, before it is known whether it is granted.
struct Request {
  const char* call = "";  // the driver function
  std::uint64_t size_bytes = 0;
  trace::Class block_class = trace::Class::Device;
  CUstream stream = nullptr;
  int device = -1;                                // where it is not the current one
  CUresult (*undo)(const Allocation&) = nullptr;  // gives the block back; for classes that are on the device's bill
  void (*holder)(const Allocation&) = nullptr;    // told of the block before it is recorded
  CUmemoryPool pool = nullptr;                    // of Class::Pool: where it is not the device's current one
};

// The two halves of an allocation, before and after the real call. The first says whether a limit lets it be made at
// all, the second what the program is told: the driver's result, unless the limit turned out to be passed.
bool may_ask(const Request& request, Place& place, Pass& pass);
CUresult asked(const Request& request, const Place& place, const Pass& pass, CUresult result, Allocation made);
CUresult undo_memory(const Allocation& made);
CUresult undo_array(const Allocation& made);
CUresult undo_mipmap(const Allocation& made);
CUresult undo_physical(const Allocation& made);

// The size of the driver's block that begins at an address; 0 when it does not say.
std::uint64_t block_bytes(CUdeviceptr block);
// The driver found no memory: whether what the caches give back is worth another question. First as much as was asked
// for; then everything, since a pool or a library may take more at a time.
bool relieved(const Request& request, const Place& place, CUresult result, bool everything);
// The same for calls that take memory without saying how much: modules, graphs, contexts. Of the current device, or of
// the one that is named.
bool relieved(int device, CUresult result);
template <class Real>
CUresult with_relief(int device, Real real) {
  CUresult const result = real();
  bool again = false;
  if (result == CUDA_ERROR_OUT_OF_MEMORY && recording()) shield([&] { again = relieved(device, result); });
  return again ? real() : result;
}
// A call from a signal handler that interrupted us: counted, not recorded.
void count_reentered();

// real() makes the call; block() then tells the block's address and size.
template <class Real, class Block>
CUresult allocate(const Request& request, Real real, Block block) {
  if (!ready()) return real();
  Place place;
  Pass pass;
  bool within = true;
  bool const seen = shield([&] { within = may_ask(request, place, pass); });
  if (!within) return CUDA_ERROR_OUT_OF_MEMORY;
  CUresult result = real();
  if (!seen) {
    count_reentered();
    return result;
  }
  for (bool const everything : {false, true}) {
    bool again = false;
    shield([&] { again = relieved(request, place, result, everything); });
    if (again) result = real();
  }
  shield([&] { result = asked(request, place, pass, result, result == CUDA_SUCCESS ? block() : Allocation{}); });
  leave_gate(pass);
  return result;
}

// Puts a block back on the account where control leaves the real call by an exception or with the end of its thread.
class PutBack {
 public:
  explicit PutBack(const Leaving& leaving) : leaving_(&leaving) {}
  ~PutBack() {
    if (leaving_ != nullptr) shield([&] { recorder().stayed(*leaving_); });
  }
  PutBack(const PutBack&) = delete;
  PutBack& operator=(const PutBack&) = delete;
  void returned() { leaving_ = nullptr; }

 private:
  const Leaving* leaving_;
};

template <class Real>
CUresult release(trace::Space space, std::uint64_t address, CUstream stream, Real real) {
  if (address == 0 || !ready()) return real();
  Leaving leaving;
  bool const seen = shield([&] { leaving = recorder().leave(space, address); });
  PutBack put_back(leaving);
  CUresult const result = real();
  put_back.returned();
  if (!seen) {
    count_reentered();
    return result;
  }
  shield([&] {
    // An error of earlier asynchronous work may come back from a free that was carried out; whether it was cannot be
    // told from here, and a block that is still on the account is the lesser mistake.
    if (result != CUDA_SUCCESS) return recorder().stayed(leaving);
    recorder().left(leaving, reinterpret_cast<std::uint64_t>(stream));
    if (devices().sample_moved()) return;
    if (leaving.known && trace::on_device(leaving.block.block_class)) devices().sample(leaving.block.device);
  });
  return result;
}

}  // namespace tidemark::interpose
