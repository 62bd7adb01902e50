// LevelDB's log format, read and written without LevelDB (its doc/log_format.md).
//
// A log is a sequence of blocks of 32 KiB. A record is cut into fragments that fit into blocks,
// each with a head of 7 bytes: masked CRC-32C of type and payload, length, type. Logs of batches
// and MANIFEST files have this format.
//
// LevelDB's own reader is lenient in two places: a length that points behind the end of the file
// and a head of zeros end the reading of a block without a complaint, whatever follows. This one
// says where the whole records end, and finds those behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace agent_graph::state {

inline constexpr size_t kLogBlockBytes = 32 * 1024;
inline constexpr size_t kLogHeadBytes = 7;

// Appends a record to the bytes of a log.
void AppendLogRecord(std::string_view payload, std::string& log);

class LogReader {
 public:
  // `log` is the whole file; it must outlive the reader.
  explicit LogReader(std::string_view log) : log_(log) {}

  // The next whole record; the view is valid until the next call. False where the file ends, or
  // where it is damaged.
  bool Next(std::string_view& payload);
  // Behind the last record that Next returned.
  size_t whole_end() const { return whole_end_; }
  // Next returned false, and the file has no bytes behind whole_end().
  bool AtEnd() const { return whole_end_ == log_.size(); }
  // After Next returned false: goes to the next place behind the damage from which all fragments
  // are whole up to the end of their block. One whole fragment proves little: a payload may hold
  // the bytes of a record, put there by a user. False when there is none.
  bool SkipDamage();

 private:
  struct Fragment {
    uint8_t type = 0;
    std::string_view payload;
    size_t end = 0;
  };

  std::optional<Fragment> FragmentAt(size_t at) const;
  // The fragments from `at` on are whole up to the end of the block.
  bool IsWholeToBlockEnd(size_t at) const;

  const std::string_view log_;
  size_t at_ = 0;
  size_t whole_end_ = 0;
  std::string joined_;  // of the record in several fragments
};

}  // namespace agent_graph::state
