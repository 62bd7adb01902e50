// A streaming parser of multipart/form-data (RFC 7578, with the syntax of RFC 2046).
//
// The caller passes bytes in as they arrive, cut anywhere, and gets parts as soon as they are
// recognised. Besides bytes that it was given and has not returned, the parser stores the head of
// one part, or as many bytes of the body as a delimiter has. Not thread-safe; nothing blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace agent_graph::multipart {

// Limits of a body. Exceeding one is an error.
struct Limits {
  size_t parts_max = 64;
  size_t head_bytes_max = 8 * 1024;  // per part
  size_t name_bytes_max = 1024;      // bounds the name of a field or file
};

// The head of a part.
struct Part {
  std::string name;
  std::optional<std::string> filename;  // as sent: may contain a path, may be empty
  std::string content_type;             // empty: not given
};

// Returns the boundary parameter of a Content-Type; nullopt if it is not multipart/form-data or the
// boundary is not valid by RFC 2046.
std::optional<std::string> BoundaryOf(std::string_view content_type);

class Parser {
 public:
  enum class Event : uint8_t {
    kNeedMore,  // call Feed; without more input the body is truncated
    kPart,      // the next part has begun: part() is its head
    kData,      // data() is the next piece of its data, valid until the next call
    kPartEnd,
    kEnd,    // the closing delimiter; bytes after it are ignored
    kError,  // error() is the reason; every later call returns it, too
  };

  explicit Parser(std::string_view boundary, Limits limits = {});

  // Adds bytes. Call it only at the beginning and after kNeedMore, so that the buffer stays small.
  void Feed(std::string_view bytes);
  // Returns the next event.
  Event Next();

  const Part& part() const { return part_; }
  std::string_view data() const { return data_; }
  const std::string& error() const { return error_; }

 private:
  enum class State : uint8_t { kPreamble, kDelimiter, kHead, kBody, kPartEnd, kEpilogue, kFailed };

  std::string_view rest() const { return std::string_view(buffer_).substr(position_); }
  Event Fail(std::string error);
  Event ReadDelimiterLine();
  Event ReadHead();
  Event ReadBody();
  bool SkipPreamble();

  const std::string delimiter_;  // CRLF, two dashes, the boundary
  const Limits limits_;
  State state_ = State::kPreamble;
  std::string buffer_;
  size_t position_ = 0;         // in buffer_: end of the bytes that were returned
  bool skip_line_end_ = false;  // the body starts after a line end
  size_t parts_ = 0;
  Part part_;
  std::string_view data_;
  std::string error_;
};

}  // namespace agent_graph::multipart
