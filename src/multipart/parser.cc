#include "multipart/parser.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "multipart/part_head.h"

namespace agent_graph::multipart {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr size_t kPaddingMax = 256;  // white space after a boundary

size_t Find(std::string_view text, std::string_view wanted) {
  const void* found = memmem(text.data(), text.size(), wanted.data(), wanted.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

}  // namespace

Parser::Parser(std::string_view boundary, Limits limits)
    : delimiter_("\r\n--" + std::string(boundary)), limits_(limits) {
  // The first delimiter may be at the very beginning, without a preceding line end.
  buffer_ = kLineEnd;
}

void Parser::Feed(std::string_view bytes) {
  if (state_ == State::kEpilogue || state_ == State::kFailed) return;
  buffer_.erase(0, std::exchange(position_, 0));
  data_ = {};
  buffer_ += bytes;
}

Parser::Event Parser::Next() {
  switch (state_) {
    case State::kPreamble:
      if (!SkipPreamble()) return Event::kNeedMore;
      [[fallthrough]];
    case State::kDelimiter:
      return ReadDelimiterLine();
    case State::kHead:
      return ReadHead();
    case State::kBody:
      return ReadBody();
    case State::kPartEnd:
      state_ = State::kDelimiter;
      return Event::kPartEnd;
    case State::kEpilogue:
      return Event::kEnd;
    case State::kFailed:
      break;
  }
  return Event::kError;
}

Parser::Event Parser::Fail(std::string error) {
  state_ = State::kFailed;
  error_ = std::move(error);
  buffer_.clear();
  position_ = 0;
  return Event::kError;
}

// Moves to the end of the first delimiter if it has arrived.
bool Parser::SkipPreamble() {
  size_t found = Find(rest(), delimiter_);
  if (found == std::string_view::npos) {
    if (rest().size() >= delimiter_.size()) position_ += rest().size() - (delimiter_.size() - 1);
    return false;
  }
  position_ += found + delimiter_.size();
  state_ = State::kDelimiter;
  return true;
}

// Reads the rest of a delimiter line: "--" for the last delimiter, otherwise white space and a line
// end.
Parser::Event Parser::ReadDelimiterLine() {
  std::string_view text = rest();
  if (text.starts_with("--")) {
    state_ = State::kEpilogue;
    buffer_.clear();
    position_ = 0;
    return Event::kEnd;
  }
  size_t end = text.find_first_not_of(" \t");
  size_t padding = end == std::string_view::npos ? text.size() : end;
  if (padding > kPaddingMax) return Fail("a boundary line is too long");
  text.remove_prefix(padding);
  if (text.size() < 2 && (text.empty() || text == "\r" || (padding == 0 && text == "-"))) {
    return Event::kNeedMore;
  }
  if (!text.starts_with(kLineEnd)) return Fail("a boundary is not at the end of its line");
  // Keep the line end: a part without header fields starts with two of them.
  position_ += padding;
  state_ = State::kHead;
  return ReadHead();
}

Parser::Event Parser::ReadHead() {
  size_t end = Find(rest(), kHeadEnd);
  // The last bytes may be the start of the empty line.
  size_t bytes = end;
  if (end == std::string_view::npos) bytes = rest().size() - std::min<size_t>(rest().size(), 3);
  if (bytes > limits_.head_bytes_max) return Fail("the head of a part is too long");
  if (end == std::string_view::npos) return Event::kNeedMore;
  if (++parts_ > limits_.parts_max) return Fail("there are too many parts");
  std::string_view head = rest().substr(0, end);
  if (head.starts_with(kLineEnd)) head.remove_prefix(kLineEnd.size());
  Result<Part> part = ParsePartHead(head, limits_.name_bytes_max);
  if (!part.ok()) return Fail(part.status().message());
  part_ = *std::move(part);
  // Keep the second line end of the empty line: a part without data ends with it.
  position_ += end + kLineEnd.size();
  state_ = State::kBody;
  skip_line_end_ = true;
  return Event::kPart;
}

Parser::Event Parser::ReadBody() {
  size_t from = skip_line_end_ ? kLineEnd.size() : 0;
  size_t found = Find(rest(), delimiter_);
  if (found != std::string_view::npos && found < from) {  // the part has no data
    position_ += delimiter_.size();
    skip_line_end_ = false;
    state_ = State::kDelimiter;
    return Event::kPartEnd;
  }
  if (rest().size() < delimiter_.size() && found == std::string_view::npos) {
    return Event::kNeedMore;
  }
  position_ += from;
  skip_line_end_ = false;
  if (found != std::string_view::npos) {
    data_ = rest().substr(0, found - from);
    position_ += data_.size() + delimiter_.size();
    state_ = State::kPartEnd;
    if (!data_.empty()) return Event::kData;
    state_ = State::kDelimiter;
    return Event::kPartEnd;
  }
  // Return all bytes except those that may be the start of a delimiter.
  size_t safe = rest().size() > delimiter_.size() - 1 ? rest().size() - (delimiter_.size() - 1) : 0;
  if (safe == 0) return Event::kNeedMore;
  data_ = rest().substr(0, safe);
  position_ += safe;
  return Event::kData;
}

}  // namespace agent_graph::multipart
