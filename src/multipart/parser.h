// A streaming parser of multipart/form-data (RFC 7578, with the syntax of RFC 2046).
//
// Bytes go in as they arrive, in any cuts; parts come out as they are recognised. It keeps one
// part's head, or a delimiter's length of the body, besides the bytes it was given and has not
// handed out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace agent_graph::multipart {

struct Limits {
  size_t parts_max = 64;
  size_t head_bytes_max = 8 * 1024;  // of one part
  size_t name_bytes_max = 1024;      // of a field or file name
};

// The head of a part.
struct Part {
  std::string name;
  std::optional<std::string> filename;  // as sent: may hold a path, may be empty
  std::string content_type;             // empty: not told
};

// The boundary parameter of a Content-Type; nothing when it is not multipart/form-data or the
// boundary is none that RFC 2046 allows.
std::optional<std::string> BoundaryOf(std::string_view content_type);

class Parser {
 public:
  enum class Event : uint8_t {
    kNeedMore,  // Feed, or the body is cut short
    kPart,      // part() is the next one; its data follows
    kData,      // data() is more of it, valid until the next call
    kPartEnd,
    kEnd,    // the closing delimiter; what follows it is passed over
    kError,  // error() tells; for good
  };

  explicit Parser(std::string_view boundary, Limits limits = {});

  // Only after kNeedMore (or at the beginning), so that what is kept stays small.
  void Feed(std::string_view bytes);
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
  size_t position_ = 0;         // of what was handed out
  bool skip_line_end_ = false;  // the body begins behind one
  size_t parts_ = 0;
  Part part_;
  std::string_view data_;
  std::string error_;
};

}  // namespace agent_graph::multipart
