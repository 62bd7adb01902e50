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

// Boost's parser is recursive, and fibers have small stacks.
constexpr size_t kDepthMax = 32;

bj::parse_options Options() {
  bj::parse_options options;
  options.max_depth = kDepthMax;
  return options;
}

// The handler that Boost.JSON's parser calls for each token.
class Forwarder {
 public:
  static constexpr size_t max_object_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_array_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_key_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_string_size = std::numeric_limits<size_t>::max();

  explicit Forwarder(nlohmann::json_sax<json>& to) : to_(to) {}

  bool on_document_begin(bj::error_code&) { return true; }
  bool on_document_end(bj::error_code&) { return true; }
  bool on_object_begin(bj::error_code& end) { return Goes(to_.start_object(kUnknownSize), end); }
  bool on_object_end(size_t, bj::error_code& end) { return Goes(to_.end_object(), end); }
  bool on_array_begin(bj::error_code& end) { return Goes(to_.start_array(kUnknownSize), end); }
  bool on_array_end(size_t, bj::error_code& end) { return Goes(to_.end_array(), end); }
  bool on_key_part(bj::string_view part, size_t, bj::error_code&) { return AddPart(part); }
  bool on_key(bj::string_view last, size_t, bj::error_code& end) {
    AddPart(last);
    const bool goes = to_.key(text_);
    text_.clear();
    return Goes(goes, end);
  }
  bool on_string_part(bj::string_view part, size_t, bj::error_code&) { return AddPart(part); }
  bool on_string(bj::string_view last, size_t, bj::error_code& end) {
    AddPart(last);
    const bool goes = to_.string(text_);
    text_.clear();
    return Goes(goes, end);
  }
  // Never called in parts, because the text is parsed in one call.
  bool on_number_part(bj::string_view, bj::error_code&) { return true; }
  bool on_int64(int64_t number, bj::string_view text, bj::error_code& end) {
    if (text.front() == '-') return Goes(to_.number_integer(number), end);
    return Goes(to_.number_unsigned(static_cast<uint64_t>(number)), end);
  }
  bool on_uint64(uint64_t number, bj::string_view, bj::error_code& end) {
    return Goes(to_.number_unsigned(number), end);
  }
  // Boost's own value may differ in the last bit.
  bool on_double(double, bj::string_view text, bj::error_code& end) {
    if (text.find_first_of(".eE") == bj::string_view::npos) return Goes(false, end);
    double number = 0;
    const char* const last = text.data() + text.size();
    const auto read = std::from_chars(text.data(), last, number);
    if (read.ec != std::errc() || read.ptr != last) return Goes(false, end);
    return Goes(to_.number_float(number, text_), end);
  }
  bool on_bool(bool value, bj::error_code& end) { return Goes(to_.boolean(value), end); }
  bool on_null(bj::error_code& end) { return Goes(to_.null(), end); }
  bool on_comment_part(bj::string_view, bj::error_code&) { return true; }
  bool on_comment(bj::string_view, bj::error_code&) { return true; }

 private:
  static constexpr size_t kUnknownSize = std::numeric_limits<size_t>::max();

  static bool Goes(bool goes, bj::error_code& end) {
    if (!goes) end = bj::error::incomplete;
    return goes;
  }
  bool AddPart(bj::string_view part) {
    text_.append(part.data(), part.size());
    return true;
  }

  nlohmann::json_sax<json>& to_;
  std::string text_;  // of a key or string, so far
};

}  // namespace

bool ReadJsonTokens(std::string_view text, nlohmann::json_sax<json>& to) {
  bj::basic_parser<Forwarder> parser(Options(), to);
  bj::error_code failure;
  const size_t read = parser.write_some(false, text.data(), text.size(), failure);
  return !failure && read == text.size();
}

}  // namespace agent_graph
