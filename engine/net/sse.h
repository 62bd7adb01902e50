// Server-sent events, parsed as the bytes arrive.
//
// Lenient where real servers are: lines end with CR, LF or CRLF, a byte order mark may come first,
// the space after the colon is optional. Bytes are not decoded, so that a character split over two
// pieces stays whole.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace agent_graph::net {

inline constexpr size_t kSseEventBytesMax = 1024 * 1024;

inline constexpr size_t kSseIdBytesMax = 1024;  // a longer id counts as none

// Lives until the next call of its parser.
struct SseEvent {
  std::string_view type;  // empty: "message"
  std::string_view data;  // several data lines are joined by a newline
};

// One stream; one thread at a time. Feed a piece, then take events until there is none.
class SseParser {
 public:
  // Bounds a line and the data of one event.
  explicit SseParser(size_t event_bytes_max = kSseEventBytesMax);

  void Feed(std::string bytes);
  // The stream has ended: what came after the last line end counts as a line, and an event without
  // its blank line as complete.
  void Finish();
  // True: `event` is the next one. False: there is none yet. kResourceExhausted past the bound,
  // from then on always.
  Result<bool> Next(SseEvent& event);

  // The newest id of an event that is complete, without data or not: where a reader of a new
  // connection goes on. Empty: none. An id that does not fit into a header (printable ASCII) clears
  // it, because the stream cannot be resumed there.
  const std::string& last_event_id() const { return last_event_id_; }
  // How long the server wants a reader to wait before it connects again.
  std::optional<std::chrono::milliseconds> retry() const { return retry_; }

 private:
  void Drop();
  bool SkipByteOrderMark();
  bool TakeLine(std::string_view& line);
  void ReadField(std::string_view line);
  void ReadRetry(std::string_view digits);
  void TakeId();

  const size_t event_bytes_max_;
  std::string buffer_;
  size_t start_ = 0;    // of the first line not taken
  size_t scanned_ = 0;  // no line end before this
  bool at_beginning_ = true;
  bool after_carriage_return_ = false;
  bool finished_ = false;
  bool failed_ = false;

  // The event of which lines were read.
  bool delivered_ = false;
  bool has_data_ = false;
  std::string type_;
  std::string_view data_;  // a line in buffer_, or joined_
  std::string joined_;
  std::optional<std::string> id_;

  std::string last_event_id_;
  std::optional<std::chrono::milliseconds> retry_;
};

}  // namespace agent_graph::net
