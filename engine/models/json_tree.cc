#include "models/json_tree.h"

#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "base/free_memory.h"
#include "base/json.h"

namespace agent_graph::models {
namespace {

namespace bj = boost::json;

constexpr size_t kDepthMax = 32;
constexpr size_t kNodesMax = 100'000;
// More memory than this is released after an unusually large text.
constexpr size_t kNodesKept = 1024;
constexpr size_t kDecodedBytesKept = 64 * 1024;

constexpr size_t kEscapeBytes = 6;
constexpr std::string_view kReplacementEscape = "\\ufffd";

bj::parse_options Options() {
  bj::parse_options options;
  options.max_depth = kDepthMax;
  options.allow_invalid_utf8 = true;  // replaced when the text is written
  return options;
}

// The handler that Boost.JSON's parser calls for each token.
class TreeBuilder {
 public:
  static constexpr size_t max_object_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_array_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_key_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_string_size = std::numeric_limits<size_t>::max();

  void Begin(std::string_view text) {
    if (nodes_.capacity() > kNodesKept) FreeMemory(nodes_);
    if (decoded_.capacity() > kDecodedBytesKept) FreeMemory(decoded_);
    nodes_.clear();
    decoded_.clear();
    open_.clear();
    key_ = {};
    text_ = text;
  }
  const JsonNode* root() const { return nodes_.data(); }

  bool on_document_begin(bj::error_code&) { return true; }
  bool on_document_end(bj::error_code&) { return true; }
  bool on_object_begin(bj::error_code& error) { return Open(JsonNode::Type::kObject, error); }
  bool on_object_end(size_t, bj::error_code&) { return Close(); }
  bool on_array_begin(bj::error_code& error) { return Open(JsonNode::Type::kArray, error); }
  bool on_array_end(size_t, bj::error_code&) { return Close(); }
  bool on_key_part(bj::string_view part, size_t, bj::error_code&) { return AddPart(part); }
  bool on_key(bj::string_view last, size_t size, bj::error_code&) {
    key_ = Whole(last, size);
    return true;
  }
  bool on_string_part(bj::string_view part, size_t, bj::error_code&) { return AddPart(part); }
  bool on_string(bj::string_view last, size_t size, bj::error_code& error) {
    JsonNode* node = Add(JsonNode::Type::kString, error);
    if (node != nullptr) node->text = Whole(last, size);
    return node != nullptr;
  }
  // Never called in parts, because the text is parsed in one call.
  bool on_number_part(bj::string_view, bj::error_code&) { return true; }
  bool on_int64(int64_t number, bj::string_view text, bj::error_code& error) {
    return AddNumber(text, true, number, error);
  }
  bool on_uint64(uint64_t, bj::string_view text, bj::error_code& error) {
    return AddNumber(text, false, 0, error);  // exceeds an int64_t
  }
  bool on_double(double number, bj::string_view text, bj::error_code& error) {
    // 2^63 is the first value that does not fit; -2^63 fits.
    const bool fits = number >= -0x1p63 && number < 0x1p63 &&
                      static_cast<double>(static_cast<int64_t>(number)) == number;
    return AddNumber(text, fits, fits ? static_cast<int64_t>(number) : 0, error);
  }
  bool on_bool(bool value, bj::error_code& error) {
    return Add(value ? JsonNode::Type::kTrue : JsonNode::Type::kFalse, error) != nullptr;
  }
  bool on_null(bj::error_code& error) { return Add(JsonNode::Type::kNull, error) != nullptr; }
  bool on_comment_part(bj::string_view, bj::error_code&) { return true; }
  bool on_comment(bj::string_view, bj::error_code&) { return true; }

 private:
  JsonNode* Add(JsonNode::Type type, bj::error_code& error) {
    if (nodes_.size() == kNodesMax) {
      error = bj::error::array_too_large;
      return nullptr;
    }
    JsonNode& node = nodes_.emplace_back();
    node.type = type;
    node.key = std::exchange(key_, {});
    return &node;
  }
  bool AddNumber(bj::string_view text, bool is_integer, int64_t integer, bj::error_code& error) {
    JsonNode* node = Add(JsonNode::Type::kNumber, error);
    if (node == nullptr) return false;
    node->text = {text.data(), text.size()};
    node->is_integer = is_integer;
    node->integer = integer;
    return true;
  }
  bool Open(JsonNode::Type type, bj::error_code& error) {
    if (Add(type, error) == nullptr) return false;
    open_.push_back(nodes_.size() - 1);
    return true;
  }
  bool Close() {
    nodes_[open_.back()].nodes = static_cast<uint32_t>(nodes_.size() - open_.back());
    open_.pop_back();
    return true;
  }
  // A string with escapes arrives unescaped and in parts. Unescaping never makes it longer, so the
  // buffer does not move and views of it stay valid.
  bool AddPart(bj::string_view part) {
    if (decoded_.capacity() < text_.size()) decoded_.reserve(text_.size());
    decoded_.append(part.data(), part.size());
    return true;
  }
  std::string_view Whole(bj::string_view last, size_t size) {
    if (IsInText(last) && last.size() == size) return {last.data(), last.size()};
    AddPart(last);
    return std::string_view(decoded_).substr(decoded_.size() - size);
  }
  // False: the part is in a buffer of the parser.
  bool IsInText(bj::string_view part) const { return IsWithin({part.data(), part.size()}, text_); }

  std::string_view text_;
  std::string_view key_;
  std::vector<JsonNode> nodes_;
  std::vector<size_t> open_;  // the objects and arrays that contain the next value
  std::string decoded_;
};

void AppendText(std::string& out, const JsonNode& value) {
  switch (value.type) {
    case JsonNode::Type::kNull:
      out += "null";
      return;
    case JsonNode::Type::kFalse:
      out += "false";
      return;
    case JsonNode::Type::kTrue:
      out += "true";
      return;
    case JsonNode::Type::kNumber:
      out += value.text;
      return;
    case JsonNode::Type::kString:
      AppendJsonString(out, value.text);
      return;
    case JsonNode::Type::kArray:
    case JsonNode::Type::kObject:
      break;
  }
  bool first = true;
  out += value.is_object() ? '{' : '[';
  for (const JsonNode& item : JsonItems(value)) {
    if (!std::exchange(first, false)) out += ',';
    if (value.is_object()) {
      AppendJsonString(out, item.key);
      out += ':';
    }
    AppendText(out, item);
  }
  out += value.is_object() ? '}' : ']';
}

// The value of the escape \uXXXX at `at`; nullopt if there is none.
std::optional<unsigned> EscapedUnit(std::string_view text, size_t at) {
  if (at > text.size() || text.size() - at < kEscapeBytes) return std::nullopt;
  if (text.substr(at, 2) != "\\u") return std::nullopt;
  unsigned unit = 0;
  const char* const end = text.data() + at + kEscapeBytes;
  const auto read = std::from_chars(text.data() + at + 2, end, unit, 16);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return unit;
}

// Replaces halves of surrogate pairs; nullopt if there are none.
std::optional<std::string> WithoutHalfPairs(std::string_view text) {
  const auto is_high = [](unsigned unit) { return unit >= 0xd800 && unit < 0xdc00; };
  const auto is_low = [](unsigned unit) { return unit >= 0xdc00 && unit < 0xe000; };
  std::optional<std::string> repaired;
  for (size_t at = text.find('\\'); at < text.size(); at = text.find('\\', at)) {
    const std::optional<unsigned> unit = EscapedUnit(text, at);
    const size_t begin = at;
    at += unit ? kEscapeBytes : 2;
    if (!unit || (!is_high(*unit) && !is_low(*unit))) continue;
    const std::optional<unsigned> next = EscapedUnit(text, at);
    if (is_high(*unit) && next && is_low(*next)) {
      at += kEscapeBytes;
      continue;
    }
    if (!repaired) repaired = std::string(text);
    repaired->replace(begin, kEscapeBytes, kReplacementEscape);
  }
  return repaired;
}

}  // namespace

bool IsWithin(std::string_view part, std::string_view whole) {
  const std::less_equal<const char*> at_most;
  return at_most(whole.data(), part.data()) &&
         at_most(part.data() + part.size(), whole.data() + whole.size());
}

const JsonNode* FindMember(const JsonNode& object, std::string_view key) {
  for (const JsonNode& member : JsonItems(object)) {
    if (member.key == key) return &member;
  }
  return nullptr;
}

std::string JsonText(const JsonNode& value) {
  std::string out;
  AppendText(out, value);
  return out;
}

struct JsonTree::Parser {
  const JsonNode* Parse(std::string_view text) {
    parser.reset();
    parser.handler().Begin(text);
    bj::error_code failure;
    const size_t parsed = parser.write_some(false, text.data(), text.size(), failure);
    return failure || parsed < text.size() ? nullptr : parser.handler().root();
  }

  bj::basic_parser<TreeBuilder> parser{Options()};
  std::string repaired;
};

JsonTree::JsonTree() : parser_(std::make_unique<Parser>()) {}
JsonTree::~JsonTree() = default;

const JsonNode* JsonTree::Parse(std::string_view text) {
  if (const JsonNode* root = parser_->Parse(text)) return root;
  std::optional<std::string> repaired = WithoutHalfPairs(text);
  if (!repaired) return nullptr;
  parser_->repaired = *std::move(repaired);
  return parser_->Parse(parser_->repaired);
}

}  // namespace agent_graph::models
