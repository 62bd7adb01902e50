#include "base/json_tokens.h"

#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <system_error>

namespace agent_graph {
namespace {

namespace bj = boost::json;

// Boost's parser is recursive, and fibers have small stacks. At this depth it uses about 10 KiB.
constexpr size_t kDepthMax = 32;

bj::parse_options Options() {
  bj::parse_options options;
  options.max_depth = kDepthMax;
  return options;
}

// Boost.JSON's parser calls this for each token. False, with an error, ends the parser.
class Forwarder {
 public:
  static constexpr size_t max_object_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_array_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_key_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_string_size = std::numeric_limits<size_t>::max();

  explicit Forwarder(nlohmann::json_sax<json>& handler) : handler_(handler) {}

  bool on_document_begin(bj::error_code&) { return true; }
  bool on_document_end(bj::error_code&) { return true; }
  bool on_object_begin(bj::error_code& error) {
    return GoOn(handler_.start_object(kUnknownSize), error);
  }
  bool on_object_end(size_t, bj::error_code& error) { return GoOn(handler_.end_object(), error); }
  bool on_array_begin(bj::error_code& error) {
    return GoOn(handler_.start_array(kUnknownSize), error);
  }
  bool on_array_end(size_t, bj::error_code& error) { return GoOn(handler_.end_array(), error); }
  bool on_key_part(bj::string_view part, size_t, bj::error_code&) { return AddPart(part); }
  bool on_key(bj::string_view last, size_t, bj::error_code& error) {
    AddPart(last);
    const bool goes_on = handler_.key(text_);
    text_.clear();
    return GoOn(goes_on, error);
  }
  bool on_string_part(bj::string_view part, size_t, bj::error_code&) { return AddPart(part); }
  bool on_string(bj::string_view last, size_t, bj::error_code& error) {
    AddPart(last);
    const bool goes_on = handler_.string(text_);
    text_.clear();
    return GoOn(goes_on, error);
  }
  // Never called in parts, because the text is parsed in one call.
  bool on_number_part(bj::string_view, bj::error_code&) { return true; }
  bool on_int64(int64_t number, bj::string_view text, bj::error_code& error) {
    if (text.front() == '-') return GoOn(handler_.number_integer(number), error);
    return GoOn(handler_.number_unsigned(static_cast<uint64_t>(number)), error);
  }
  bool on_uint64(uint64_t number, bj::string_view, bj::error_code& error) {
    return GoOn(handler_.number_unsigned(number), error);
  }
  // Boost's own value may differ in the last bit. An integer becomes a double if it is too large.
  bool on_double(double, bj::string_view text, bj::error_code& error) {
    if (text.find_first_of(".eE") == bj::string_view::npos) return GoOn(false, error);
    double number = 0;
    const char* const last = text.data() + text.size();
    const auto read = std::from_chars(text.data(), last, number);
    if (read.ec != std::errc() || read.ptr != last) return GoOn(false, error);
    return GoOn(handler_.number_float(number, text_), error);
  }
  bool on_bool(bool value, bj::error_code& error) { return GoOn(handler_.boolean(value), error); }
  bool on_null(bj::error_code& error) { return GoOn(handler_.null(), error); }
  bool on_comment_part(bj::string_view, bj::error_code&) { return true; }
  bool on_comment(bj::string_view, bj::error_code&) { return true; }

 private:
  static constexpr size_t kUnknownSize = std::numeric_limits<size_t>::max();

  static bool GoOn(bool goes_on, bj::error_code& error) {
    if (!goes_on) error = bj::error::incomplete;
    return goes_on;
  }
  bool AddPart(bj::string_view part) {
    text_.append(part.data(), part.size());
    return true;
  }

  nlohmann::json_sax<json>& handler_;
  std::string text_;  // the parts of a key or string so far
};

}  // namespace

bool ReadJsonTokens(std::string_view text, nlohmann::json_sax<json>& handler) {
  bj::basic_parser<Forwarder> parser(Options(), handler);
  bj::error_code failure;
  const size_t read = parser.write_some(false, text.data(), text.size(), failure);
  return !failure && read == text.size();
}

}  // namespace agent_graph
