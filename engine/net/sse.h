// Parser of server-sent events, for bytes that arrive in pieces.
//
// It accepts what real servers send: lines end with CR, LF or CRLF, a byte order mark may come
// first, the space after the colon is optional. Bytes are not decoded, so a character that is split
// over two pieces stays intact.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace agent_graph::net {

inline constexpr size_t kSseEventBytesMax = 1024 * 1024;

inline constexpr size_t kSseIdBytesMax = 1024;  // a longer id is ignored

// Valid until the next call of its parser.
struct SseEvent {
  std::string_view type;  // empty: "message"
  std::string_view data;  // several data lines, joined by newlines
};

// Parses one stream; not thread-safe. Feed a piece, then take events until there is none.
class SseParser {
 public:
  // `event_bytes_max` limits a line, and the data of one event.
  explicit SseParser(size_t event_bytes_max = kSseEventBytesMax);

  void Feed(std::string bytes);
  // Call it at the end of the stream. Bytes after the last line end then count as a line, and an
  // event without its blank line counts as complete.
  void Finish();
  // True: `event` is the next one. False: more bytes are needed. kResourceExhausted if a limit is
  // exceeded; every later call then fails, too.
  Result<bool> Next(SseEvent& event);

  // The id of the newest complete event that has one, with or without data: the position to resume
  // from on a new connection. Empty: none. An id that does not fit into a header (printable ASCII)
  // clears it, because the stream cannot be resumed there.
  const std::string& last_event_id() const { return last_event_id_; }
  // The time that the server asks clients to wait before they reconnect.
  std::optional<std::chrono::milliseconds> retry() const { return retry_; }

 private:
  void Drop();
  bool SkipByteOrderMark();
  size_t FindLineEnd();
  bool TakeLine(std::string_view& line);
  void ReadField(std::string_view line);
  void ReadRetry(std::string_view digits);
  void TakeId();

  const size_t event_bytes_max_;
  std::string buffer_;
  size_t start_ = 0;    // where the first line begins that was not taken yet
  size_t scanned_ = 0;  // there is no line end before this
  // The first newline in buffer_ at the time when it was searched for; npos: there is none.
  std::optional<size_t> newline_;
  bool at_beginning_ = true;
  bool after_carriage_return_ = false;
  bool finished_ = false;
  bool failed_ = false;

  // The event whose lines are being read.
  bool delivered_ = false;
  bool has_data_ = false;
  std::string type_;
  std::string_view data_;  // refers to a line in buffer_, or to joined_
  std::string joined_;
  std::optional<std::string> id_;

  std::string last_event_id_;
  std::optional<std::chrono::milliseconds> retry_;
};

}  // namespace agent_graph::net
