// Zeros that are written ahead into a log, and which its records replace.
//
// A sync of bytes that make a file longer also has to write the file's new size to the journal of
// the file system. A sync of bytes that replace others takes little more than half of that time.
// Readers of a log take zeros for its end (log_records.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace agent_graph::state {

// Used by the thread that writes the log.
class PreparedSpace {
 public:
  // How far zeros are written ahead: so far that they are seldom written, and that a log which
  // stays short wastes little.
  static constexpr size_t kAheadBytes = size_t{256} * 1024;
  // With less free space than this on the disk, nothing is prepared.
  static constexpr size_t kRoomBytes = size_t{32} * 1024 * 1024;

  // `file` is empty, open for writing without O_APPEND, and outlives this object.
  explicit PreparedSpace(int file);

  // Call before `bytes` are written at `begin`.
  void Prepare(uint64_t begin, size_t bytes);
  // Frees what lies behind `end`, where the log ends.
  void Release(uint64_t end);

 private:
  const int file_;
  bool is_useful_;
  uint64_t end_ = 0;
};

}  // namespace agent_graph::state
