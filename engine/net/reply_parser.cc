// The only file of the HTTP client that includes Boost.Beast's parser, which is slow to compile.
#include "net/reply_parser.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "base/letter_case.h"
#include "net/http_failure.h"
#include "net/reply_head.h"

namespace agent_graph::net {

namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

class ReplyParser::Callbacks final : public http::basic_parser</*isRequest=*/false> {
 public:
  Callbacks(bool to_head_request, size_t head_bytes_max) {
    eager(true);
    skip(to_head_request);
    header_limit(static_cast<uint32_t>(head_bytes_max));
    body_limit(boost::none);  // the caller has its own limit
  }

  void set_body(std::string* body) { body_ = body; }
  HttpHead& head() { return head_; }

 private:
  void on_request_impl(http::verb, beast::string_view, beast::string_view, int,
                       error_code&) override {}
  void on_response_impl(int status, beast::string_view, int, error_code& error) override {
    if (status < 100) error = http::error::bad_status;
    head_.status = status;
  }
  void on_field_impl(http::field, beast::string_view name, beast::string_view value,
                     error_code&) override {
    if (is_header_done()) return;  // a trailer
    head_.headers.emplace_back(LowerCase({name.data(), name.size()}),
                               std::string(value.data(), value.size()));
  }
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<uint64_t>&, error_code&) override {}
  size_t on_body_impl(beast::string_view piece, error_code&) override {
    body_->append(piece.data(), piece.size());
    return piece.size();
  }
  void on_chunk_header_impl(uint64_t, beast::string_view, error_code&) override {}
  size_t on_chunk_body_impl(uint64_t, beast::string_view piece, error_code&) override {
    body_->append(piece.data(), piece.size());
    return piece.size();
  }
  void on_finish_impl(error_code&) override {}

  HttpHead head_;
  std::string* body_ = nullptr;
};

namespace {

Status ToStatus(const error_code& error) {
  if (error == http::error::header_limit) {
    return {StatusCode::kResourceExhausted, "the head of the reply is too large"};
  }
  const bool is_cut = error == http::error::partial_message || error == http::error::end_of_stream;
  return StatusOf(is_cut ? HttpFailure::kClosed : HttpFailure::kReply).WithDetail(error.message());
}

}  // namespace

ReplyParser::ReplyParser(bool to_head_request, size_t head_bytes_max)
    : to_head_request_(to_head_request),
      head_bytes_max_(head_bytes_max),
      reply_(std::make_unique<Callbacks>(to_head_request, head_bytes_max)) {}
ReplyParser::~ReplyParser() = default;

Status ReplyParser::Take(std::string_view bytes, std::string& body) {
  has_begun_ = has_begun_ || !bytes.empty();
  std::string joined;
  if (!rest_.empty()) {
    joined = std::exchange(rest_, {});
    joined += bytes;
    bytes = joined;
  }
  reply_->set_body(&body);
  while (!bytes.empty() && !reply_->is_done()) {
    if (!reply_->is_header_done()) {
      AG_RETURN_IF_ERROR(TakeHead(bytes));
      if (!reply_->is_header_done()) break;
    } else {
      error_code error;
      bytes.remove_prefix(reply_->put(boost::asio::buffer(bytes.data(), bytes.size()), error));
      if (error == http::error::need_more) {
        // The bytes are the beginning of a chunk line or of the trailers, which Beast does not
        // limit.
        if (bytes.size() > head_bytes_max_) return ToStatus(http::error::header_limit);
        break;
      }
      if (error) return ToStatus(error);
    }
    if (reply_->is_done() && head().status < 200) {
      reply_ = std::make_unique<Callbacks>(to_head_request_, head_bytes_max_);
      reply_->set_body(&body);
    }
  }
  rest_ = bytes;
  return Status::Ok();
}

Status ReplyParser::TakeHead(std::string_view& bytes) {
  const size_t size = ReplyHeadSize(bytes, searched_);
  searched_ = size == 0 ? bytes.size() : 0;
  if (heads_bytes_ + std::max(size, searched_) > head_bytes_max_) {
    return ToStatus(http::error::header_limit);
  }
  heads_bytes_ += size;
  if (size == 0) return Status::Ok();
  std::string_view head = bytes.substr(0, size);
  bytes.remove_prefix(size);
  has_bare_line_feed_ = has_bare_line_feed_ || HasBareLineFeed(head);
  const std::optional<std::string> corrected = CorrectedReplyHead(head);
  if (corrected) head = *corrected;
  error_code error;
  reply_->put(boost::asio::buffer(head.data(), head.size()), error);
  if (error == http::error::need_more) error = http::error::bad_field;
  return error ? ToStatus(error) : Status::Ok();
}

Status ReplyParser::TakeEnd() {
  if (is_complete()) return Status::Ok();
  if (!reply_->got_some()) return StatusOf(HttpFailure::kClosed);
  error_code error;
  reply_->put_eof(error);
  if (!error && !reply_->is_done()) error = http::error::partial_message;
  return error ? ToStatus(error) : Status::Ok();
}

bool ReplyParser::has_head() const {
  return reply_->is_header_done() && reply_->head().status >= 200;
}

bool ReplyParser::is_complete() const {
  return reply_->is_done() && reply_->head().status >= 200;
}

bool ReplyParser::keeps_connection() const {
  return is_complete() && rest_.empty() && !has_bare_line_feed_ && reply_->keep_alive();
}

HttpHead& ReplyParser::head() {
  return reply_->head();
}

}  // namespace agent_graph::net
