// ReplyParser: takes the bytes of one HTTP/1.x reply (RFC 9112) as they arrive. As libcurl does, it
// also takes heads whose lines end with LF alone and status lines that end behind the code.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "net/http_client.h"

namespace agent_graph::net {

// Not thread-safe. Interim replies (1xx) are skipped.
class ReplyParser {
 public:
  // A reply to a HEAD request has no body, whatever its headers say. `head_bytes_max` limits the
  // heads of the reply and of its interim replies together, each chunk line and the trailers.
  ReplyParser(bool to_head_request, size_t head_bytes_max);
  ~ReplyParser();
  ReplyParser(const ReplyParser&) = delete;
  ReplyParser& operator=(const ReplyParser&) = delete;

  // Takes the next bytes and appends their part of the body to `body`. kUnavailable: the bytes
  // are not a valid reply; kResourceExhausted: a part that `head_bytes_max` limits is larger. After
  // a failure the parser must not be used.
  Status Take(std::string_view bytes, std::string& body);
  // The server has closed the connection: kUnavailable if the reply is not complete.
  Status TakeEnd();

  bool has_begun() const { return has_begun_; }  // at least one byte has arrived
  bool has_head() const;                         // the head is complete
  bool is_complete() const;
  // True if another request may be sent on the connection after this reply. Valid when complete.
  // False if a line of the head ended with LF alone: the server may have copied a user's text with
  // a LF into a header. The text behind it is a header here, and as a length it would make the rest
  // of the reply the beginning of the next one.
  bool keeps_connection() const;
  // Valid when it has_head.
  HttpHead& head();

 private:
  class Callbacks;

  // Gives the parser the head at the beginning of `bytes` and removes it from there. Does nothing
  // if the end of the head has not arrived.
  Status TakeHead(std::string_view& bytes);

  const bool to_head_request_;
  const size_t head_bytes_max_;
  bool has_begun_ = false;
  std::unique_ptr<Callbacks> reply_;
  std::string rest_;        // bytes that the parser can only take together with the next ones
  size_t searched_ = 0;     // bytes of the head without its end
  size_t heads_bytes_ = 0;  // of the complete heads: the interim ones and the last
  bool has_bare_line_feed_ = false;
};

}  // namespace agent_graph::net
