#include "net/sse.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "base/free_memory.h"

namespace agent_graph::net {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr size_t kJoinedBytesKept = 4096;
constexpr std::chrono::milliseconds kRetryMax = std::chrono::hours(24);

}  // namespace

SseParser::SseParser(size_t event_bytes_max) : event_bytes_max_(event_bytes_max) {}

void SseParser::Feed(std::string bytes) {
  if (failed_) return;
  Drop();
  if (has_data_ && data_.data() != joined_.data()) {
    joined_ = data_;  // the line in buffer_ is about to move
    data_ = joined_;
  }
  if (start_ == buffer_.size()) {
    buffer_ = std::move(bytes);
  } else {
    buffer_.erase(0, start_);
    buffer_ += bytes;
  }
  scanned_ -= start_;
  start_ = 0;
  newline_.reset();
}

// Clears an event that was delivered.
void SseParser::Drop() {
  if (!std::exchange(delivered_, false)) return;
  has_data_ = false;
  type_.clear();
  if (joined_.capacity() > kJoinedBytesKept) FreeMemory(joined_);
}

void SseParser::Finish() {
  finished_ = true;
}

// False: more bytes are needed to decide whether there is one.
bool SseParser::SkipByteOrderMark() {
  if (!at_beginning_) return true;
  const std::string_view head = std::string_view(buffer_).substr(0, kByteOrderMark.size());
  if (!finished_ && head.size() < kByteOrderMark.size() && kByteOrderMark.starts_with(head)) {
    return false;
  }
  at_beginning_ = false;
  if (head == kByteOrderMark) start_ = scanned_ = kByteOrderMark.size();
  return true;
}

// Position of the first line end after scanned_, or npos. find_first_of makes a call for each byte.
// The newline that was found is remembered: if lines end with CR, it may be far away, and the
// search for it would read the rest of the buffer again for each line.
size_t SseParser::FindLineEnd() {
  if (!newline_ || *newline_ < scanned_) newline_ = buffer_.find('\n', scanned_);
  return std::min(*newline_, std::string_view(buffer_).substr(0, *newline_).find('\r', scanned_));
}

bool SseParser::TakeLine(std::string_view& line) {
  if (after_carriage_return_ && start_ < buffer_.size()) {
    after_carriage_return_ = false;
    if (buffer_[start_] == '\n') ++start_;
    if (scanned_ < start_) scanned_ = start_;
  }
  const size_t end = FindLineEnd();
  if (end != std::string::npos) {
    line = std::string_view(buffer_).substr(start_, end - start_);
    after_carriage_return_ = buffer_[end] == '\r';
    start_ = scanned_ = end + 1;
    return true;
  }
  scanned_ = buffer_.size();
  if (!finished_ || start_ == buffer_.size()) return false;
  line = std::string_view(buffer_).substr(start_);
  start_ = buffer_.size();
  return true;
}

void SseParser::ReadField(std::string_view line) {
  const size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "data") {
    if (!std::exchange(has_data_, true)) {
      data_ = value;
      return;
    }
    if (data_.data() != joined_.data()) joined_ = data_;
    joined_ += '\n';
    joined_ += value;
    data_ = joined_;
  } else if (name == "event") {
    type_ = value;
  } else if (name == "id") {
    id_ = value.size() <= kSseIdBytesMax ? value : "";
  } else if (name == "retry") {
    ReadRetry(value);
  }
}

void SseParser::ReadRetry(std::string_view digits) {
  int64_t milliseconds = 0;
  const auto [stop, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), milliseconds);
  if (error == std::errc() && stop == digits.data() + digits.size() && milliseconds >= 0) {
    retry_ = std::min(std::chrono::milliseconds(milliseconds), kRetryMax);
  }
}

// An id becomes valid when its event is complete: a client that resumes after it has the whole
// event.
void SseParser::TakeId() {
  if (!id_) return;
  const bool fits =
      std::all_of(id_->begin(), id_->end(), [](char c) { return c >= 32 && c < 127; });
  last_event_id_ = fits ? std::move(*id_) : "";
  id_.reset();
}

Result<bool> SseParser::Next(SseEvent& event) {
  Drop();
  if (SkipByteOrderMark()) {
    std::string_view line;
    while (!failed_ && TakeLine(line)) {
      if (!line.empty()) {
        failed_ = line.size() + (has_data_ ? data_.size() : 0) > event_bytes_max_;
        if (!failed_) ReadField(line);
        continue;
      }
      delivered_ = true;
      TakeId();
      if (!has_data_) {
        Drop();
        continue;
      }
      event = {type_, data_};
      return true;
    }
    failed_ = failed_ || buffer_.size() - start_ > event_bytes_max_;
  }
  if (failed_) {
    return Status(StatusCode::kResourceExhausted,
                  "an event is larger than " + std::to_string(event_bytes_max_) + " bytes");
  }
  if (finished_ && has_data_) {
    delivered_ = true;
    event = {type_, data_};
    return true;
  }
  return false;
}

}  // namespace agent_graph::net
