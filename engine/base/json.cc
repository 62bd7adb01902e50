#include "base/json.h"

#include <cctype>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <set>
#include <vector>

#include "agent_graph/json.h"
#include "base/configuration_json.h"
#include "base/hex.h"
#include "base/json_tokens.h"
#include "base/text_position.h"
#include "base/utf8.h"

namespace agent_graph {
namespace {

constexpr char kNotValid[] = "not valid JSON";

std::string NotValidAtByte(size_t position) {
  return std::string(kNotValid) + " at byte " + std::to_string(position);
}

// The position of the reader in the JSON text. Errors in a configuration report it as line and
// column.
class Progress {
 public:
  explicit Progress(std::string_view text) : text_(text), next_(text.data()) {}

  // An iterator over the text that records how far it was read.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    Iterator(const char* at, Progress& progress) : at_(at), progress_(&progress) {}
    reference operator*() const { return *at_; }
    Iterator& operator++() {
      progress_->next_ = ++at_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const char* at_;
    Progress* progress_;
  };

  Iterator begin() { return {text_.begin(), *this}; }
  Iterator end() { return {text_.end(), *this}; }

  // Offset of the last byte that was read.
  size_t last() const { return static_cast<size_t>(next_ - text_.data()) - 1; }

  // Offset of the first byte of the token that ends at `end`: a string, a number, a literal or one
  // character.
  size_t TokenStart(size_t end) const {
    if (end >= text_.size()) return text_.size();
    if (text_[end] == '"') return OpeningQuote(end);
    size_t start = end;
    while (start > 0 && IsOfWord(text_[start - 1]) && IsOfWord(text_[end])) --start;
    return start;
  }
  // Offset of the opening quote of the string that was read last.
  size_t last_string() const { return OpeningQuote(last()); }

 private:
  static bool IsOfWord(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '+' || c == '.';
  }
  size_t OpeningQuote(size_t closing) const {
    size_t quote = closing;
    bool escaped = true;
    while (escaped && quote > 0) {
      quote = text_.rfind('"', quote - 1);
      size_t slashes = 0;
      while (slashes < quote && text_[quote - 1 - slashes] == '\\') ++slashes;
      escaped = slashes % 2 != 0;
    }
    return quote;
  }

  const std::string_view text_;
  const char* next_;
};

// The path of the reader in the document, and the keys of the enclosing objects.
class KeyLedger {
 public:
  void Value() {
    if (!levels_.empty() && !levels_.back().is_object) ++levels_.back().elements;
  }
  void Enter(bool is_object) { levels_.push_back({.is_object = is_object}); }
  void Leave() { levels_.pop_back(); }
  // False if the object already has this key.
  bool Key(const std::string& key) {
    levels_.back().key = key;
    return levels_.back().keys.insert(key).second;
  }
  std::string Path() const {
    std::string path;
    for (const Level& level : levels_) {
      if (!path.empty()) path += '.';
      path += level.is_object ? level.key : std::to_string(level.elements - 1);
    }
    return path;
  }

 private:
  struct Level {
    bool is_object;
    size_t elements = 0;
    std::string key = {};
    std::set<std::string> keys = {};
  };
  std::vector<Level> levels_;
};

// Builds a tree like nlohmann's own DOM handler, but stops at the first value that exceeds a limit.
class BoundedTreeBuilder : public nlohmann::json_sax<json> {
 public:
  // `progress`: reader position for errors with line and column; null: not needed.
  BoundedTreeBuilder(json& root, const JsonLimits& limits, const Progress* progress)
      : tree_(root, false), limits_(limits), progress_(progress) {}

  const std::string& error() const { return error_; }
  size_t error_offset() const { return error_offset_; }
  // The library's own words about text that is not JSON.
  const std::string& cause() const { return cause_; }

  bool null() override { return Count() && tree_.null(); }
  bool boolean(bool value) override { return Count() && tree_.boolean(value); }
  bool number_integer(number_integer_t value) override {
    return Count() && tree_.number_integer(value);
  }
  bool number_unsigned(number_unsigned_t value) override {
    return Count() && tree_.number_unsigned(value);
  }
  bool number_float(number_float_t value, const string_t& text) override {
    return Count() && tree_.number_float(value, text);
  }
  bool string(string_t& value) override { return Count() && tree_.string(value); }
  bool binary(binary_t& value) override { return Count() && tree_.binary(value); }
  bool start_object(size_t size) override { return Enter(true) && tree_.start_object(size); }
  bool key(string_t& value) override {
    if (limits_.unique_keys && !ledger_.Key(value)) {
      error_ = ledger_.Path() + ": is there twice";
      if (progress_ != nullptr) error_offset_ = progress_->last_string();
      return false;
    }
    return tree_.key(value);
  }
  bool end_object() override {
    Leave();
    return tree_.end_object();
  }
  bool start_array(size_t size) override { return Enter(false) && tree_.start_array(size); }
  bool end_array() override {
    Leave();
    return tree_.end_array();
  }
  bool parse_error(size_t position, const std::string&, const json::exception& cause) override {
    error_ = NotValidAtByte(position);
    if (progress_ != nullptr) {
      error_ = kNotValid;
      // `position` counts the bytes that were read. An error inside a token is at its last byte; an
      // unexpected token starts before that.
      error_offset_ = position - 1;
      cause_ = cause.what();
      const bool within = cause_.find("; last read: '") != std::string::npos;
      if (!within) error_offset_ = progress_->TokenStart(error_offset_);
    }
    // nlohmann reports a number that cannot be represented as out_of_range, id 4xx.
    if (cause.id >= 400 && cause.id < 500) error_ = "a number in the JSON text is out of range";
    return false;
  }

 private:
  bool Count() {
    if (limits_.unique_keys) ledger_.Value();
    if (++values_ <= limits_.values_max) return true;
    NotePlace();
    error_ = "JSON has more than " + std::to_string(limits_.values_max) + " values";
    return false;
  }
  bool Enter(bool is_object) {
    if (!Count()) return false;
    if (limits_.unique_keys) ledger_.Enter(is_object);
    if (++depth_ <= limits_.depth_max) return true;
    NotePlace();
    error_ = "JSON is nested deeper than " + std::to_string(limits_.depth_max);
    return false;
  }
  void Leave() {
    --depth_;
    if (limits_.unique_keys) ledger_.Leave();
  }
  void NotePlace() {
    if (progress_ != nullptr) error_offset_ = progress_->last();
  }

  nlohmann::detail::json_sax_dom_parser<json> tree_;
  const JsonLimits limits_;
  const Progress* progress_;
  size_t values_ = 0;
  size_t depth_ = 0;
  KeyLedger ledger_;
  std::string error_;
  size_t error_offset_ = 0;
  std::string cause_;
};

bool IsLetter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

bool IsLetterOrDigit(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

// The usual mistakes of people who write JSON. The parser has stopped at `offset` because of
// `cause`. Empty: none of them.
std::string_view UsualMistake(std::string_view text, size_t offset, std::string_view cause) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const auto because = [&](const char* words) { return cause.find(words) != cause.npos; };
  if (offset >= text.size()) return "it ends too early";
  const char found = text[offset];
  const std::string_view before = text.substr(0, offset);
  const size_t at = before.find_last_not_of(kBlanks);
  const char last = at == before.npos ? '\0' : before[at];
  if (because("ill-formed UTF-8")) return "this byte is not UTF-8: save the file as UTF-8";
  if (because("after backslash")) return "a backslash in a text is written twice";
  if (because("invalid string")) return found == '\n' ? "a text must end on its line" : "";
  if (because("expected end of input")) return "nothing may follow the end";
  if (found == '/' || found == '#') return "JSON has no comments";
  if (found == '\'') return "texts need double quotes";
  if (text.substr(offset).starts_with("\xe2\x80")) return "texts need straight double quotes";
  if (because("object separator")) return "a colon is missing before it";
  if (found == '}' || found == ']') return last == ',' ? "the comma before it must go" : "";
  if (last == '\0') return "a JSON file begins with {";
  if (found == ':' || found == ',') return "";
  for (const std::string_view word : {"True", "False", "None"}) {
    if (text.substr(offset).starts_with(word)) return "JSON has true, false and null";
  }
  if (std::string_view(",:{[").find(last) != std::string_view::npos) {
    return IsLetter(found) ? "texts need double quotes" : "";
  }
  const bool is_one_word = at + 1 == offset && IsLetterOrDigit(last) && IsLetterOrDigit(found);
  return is_one_word ? "" : "a comma is missing before it";
}

// True for a byte that a JSON string contains as it is.
constexpr bool IsPlain(unsigned char byte) {
  return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

// The same for 8 bytes at once: the highest bit of a byte is set in the sum below if it is not
// plain, and perhaps in bytes after such a one.
bool ArePlain(const char* bytes) {
  constexpr uint64_t kEach = 0x0101010101010101;
  constexpr uint64_t kHighBits = 0x80 * kEach;
  uint64_t word;
  std::memcpy(&word, bytes, sizeof(word));
  const uint64_t quotes = word ^ ('"' * kEach);
  const uint64_t backslashes = word ^ ('\\' * kEach);
  const uint64_t found = word | (word - 0x20 * kEach) | (quotes - kEach) | (backslashes - kEach);
  return (found & kHighBits) == 0;
}

// The number of plain bytes that `text` begins with.
size_t PlainPrefix(std::string_view text) {
  size_t size = 0;
  while (text.size() - size >= sizeof(uint64_t) && ArePlain(text.data() + size)) {
    size += sizeof(uint64_t);
  }
  while (size < text.size() && IsPlain(static_cast<unsigned char>(text[size]))) ++size;
  return size;
}

}  // namespace

Result<json> ParseJson(std::string_view text, const JsonLimits& limits) {
  if (text == "{}") return json(json::value_t::object);  // most states and metadata
  // nlohmann treats a NUL as the end of the text and ignores the bytes after it.
  if (size_t nul = text.find('\0'); nul != text.npos)
    return InvalidArgument(NotValidAtByte(nul + 1));
  json root;
  BoundedTreeBuilder fast_builder(root, limits, nullptr);
  if (ReadJsonTokens(text, fast_builder)) return root;
  // nlohmann's parser reports what is wrong, and where.
  BoundedTreeBuilder builder(root, limits, nullptr);
  if (!json::sax_parse(text.begin(), text.end(), &builder)) return InvalidArgument(builder.error());
  return root;
}

Result<json> ParseConfigurationJson(std::string_view text) {
  if (size_t nul = text.find('\0'); nul != text.npos) {
    const bool is_utf16 = text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff") || nul <= 1;
    return InvalidArgument(std::string(kNotValid) +
                           (is_utf16 ? ": the file is UTF-16, save it as UTF-8" : ""))
        .WithDetail(LineAndColumn(text, nul));
  }
  json root;
  Progress progress(text);
  BoundedTreeBuilder builder(root, {.unique_keys = true}, &progress);
  if (!json::sax_parse(progress.begin(), progress.end(), &builder)) {
    std::string message = builder.error();
    if (message == kNotValid) {
      const std::string_view mistake = UsualMistake(text, builder.error_offset(), builder.cause());
      if (!mistake.empty()) message.append(": ").append(mistake);
    }
    return InvalidArgument(message).WithDetail(LineAndColumn(text, builder.error_offset()));
  }
  return root;
}

std::string DumpJson(const json& value) {
  if (value.is_object() && value.empty()) return "{}";  // most states
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string DumpSortedJson(const json& value) {
  const nlohmann::json sorted = value;
  return sorted.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void AppendJsonString(std::string& out, std::string_view text) {
  if (PlainPrefix(text) == text.size()) {
    const size_t begin = out.size();
    out.resize(begin + text.size() + 2, '"');
    text.copy(out.data() + begin + 1, text.size());
    return;
  }
  out.push_back('"');
  size_t copied = 0;
  size_t position = 0;
  auto flush = [&] { out.append(text, copied, position - copied); };
  while (position < text.size()) {
    position += PlainPrefix(text.substr(position));
    if (position == text.size()) break;
    const auto byte = static_cast<unsigned char>(text[position]);
    if (byte >= 0x80) {
      if (size_t length = Utf8CharacterSize(text.substr(position)); length > 0) {
        position += length;
        continue;
      }
      flush();
      out += "\xef\xbf\xbd";
      copied = ++position;
      continue;
    }
    flush();
    switch (byte) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      default:
        out += "\\u00";
        AppendHex(byte, out);
    }
    copied = ++position;
  }
  flush();
  out.push_back('"');
}

}  // namespace agent_graph
