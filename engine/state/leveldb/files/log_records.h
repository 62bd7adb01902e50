// Reader and writer of LevelDB's log format, independent of LevelDB (see its doc/log_format.md).
//
// A log is a sequence of 32 KiB blocks. A record is split into fragments that fit into blocks. Each
// fragment has a head of 7 bytes: masked CRC-32C of type and payload, length, type. Logs of batches
// and MANIFEST files have this format.
//
// LevelDB's own reader is lenient in two cases: a length that points past the end of the file, and
// a head of zeros, end the reading of a block without an error, whatever follows. This reader
// reports where the intact records end, and finds those behind the damage.
//
// A log in use ends with zeros, into which its next records are written
// (state/leveldb/disk/prepared_space.h). A power cut leaves zeros in each sector of a record that
// has not been written to the disk, while sectors behind it may have been.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace agent_graph::state {

inline constexpr size_t kLogBlockBytes = 32 * 1024;
inline constexpr size_t kLogHeadBytes = 7;

// True for bytes into which no record has been written yet.
bool IsZero(std::string_view bytes);

// Appends a record to the bytes of a log.
void AppendLogRecord(std::string_view payload, std::string& log);

// Reads the records of one log in memory. Not thread-safe.
class LogReader {
 public:
  // `log` is the whole file; it must outlive the reader.
  explicit LogReader(std::string_view log) : log_(log) {}

  // Reads the next intact record; the view is valid until the next call. Returns false at the end
  // of the file or at damage.
  bool Next(std::string_view& payload);
  // Offset behind the last record that Next returned.
  size_t whole_end() const { return whole_end_; }
  // True if Next returned false and nothing but zeros follows whole_end().
  bool AtEnd() const;
  // True if Next returned false because a part of the record has never been written.
  bool IsUnfinished() const;
  // Call after Next returned false: continues at the next offset from which all fragments up to the
  // end of their block, or up to the zeros at the end of the log, are intact. A single intact
  // fragment is not sufficient, because a user's payload may contain the bytes of a record. Returns
  // false if there is no such offset.
  bool SkipDamage();

 private:
  struct Fragment {
    uint8_t type = 0;
    std::string_view payload;
    size_t end = 0;
  };

  std::optional<Fragment> FragmentAt(size_t at) const;
  // Where the fragment at `at` ends, if its head is right. It may lie behind the end of the log.
  size_t ClaimedEnd(size_t at) const;
  // True if the fragment at at_ is whole except for its first `zeros` bytes, which are the end of a
  // sector that was never written.
  bool LacksBegin(size_t zeros) const;
  // The first sector of the fragment at at_, or the rest of one, that has never been written.
  std::optional<size_t> FindUnwritten() const;
  // True if all fragments from `at` to the end of the block, or of its records, are intact.
  bool IsWholeToBlockEnd(size_t at) const;

  const std::string_view log_;
  size_t at_ = 0;
  size_t whole_end_ = 0;
  std::string joined_;  // payload of a record in several fragments
};

}  // namespace agent_graph::state
