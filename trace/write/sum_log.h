// SPDX-License-Identifier: Apache-2.0
// Where a ring's sums stand in the file: groups of rows, one after the other in a row of chunks, each group ended by a
// record that makes it count. When the row of chunks gets long it is written anew, with equal rows added up, into a row
// of a higher number; a single store in the file's header passes from one to the other.
//
// The size stays bounded however long the run is: where there are too many rows, neighbouring steps become one, two by
// two. Not thread-safe: the ring's lock is around it.
#pragma once
#include <cstdint>

#include "trace/format/ring.h"
#include "trace/write/file.h"
#include "trace/write/fold.h"

namespace tidemark::trace {

class SumLog {
 public:
  SumLog(File& file, std::size_t most_chunks) : file_(file), most_chunks_(most_chunks) {}

  // Adds what a chunk came to; from then on the chunk counts no more. False, and nothing has changed, when there is no
  // space.
  bool add(Fold& fold, Chunk folded);
  // Adds to a step, as it ends.
  bool add(const StepSum& row);

  std::size_t chunks() const { return row_.chunks.size(); }
  // What it may take for a while: while it is written anew it is there twice.
  std::size_t share() const { return most_chunks_ + most_chunks_ / 2 + 1; }

 private:
  // A row of chunks that is being written: up to `at`, and then come some that are empty.
  struct Row {
    std::uint64_t number = 0;
    ChunkList chunks;
    Chunk current;
    Slot* at = nullptr;
    std::size_t spare = 0;
  };
  struct Rewritten;

  bool prepare(Row& row, std::size_t slots);
  template <class R>
  void put(Row& row, const R& record);
  void put_kept(Row& row, const Kept<DeviceUse>& use);
  void put_kept(Row& row, const Kept<Failure>& failure);
  // Makes what was put since the last one count, with one store.
  void end_group(Row& row, Chunk folded);
  void begin();
  void rewrite();
  bool gather(Rewritten& into);
  void thin(Rewritten& rows) const;
  bool write(Row& row, Rewritten& rows);
  void give_back(Row& row);

  File& file_;
  std::size_t most_chunks_;
  Row row_;
};

}  // namespace tidemark::trace
