#include "state/thread/message_read.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include "base/letter_case.h"
#include "message/codec.h"
#include "state/limits.h"
#include "state/message_cursor.h"
#include "state/thread/thread_read.h"

namespace agent_graph::state {
namespace {

// A page ends after passing so many bytes of rows; its cursor continues from there.
constexpr size_t kMessageBytesPassedMax = 64 * 1024 * 1024;

// The position where a page of messages begins.
struct MessagePlace {
  uint64_t sequence = 1;
  uint64_t skip = 0;
  bool backwards = false;

  std::string CursorAt(uint64_t at_sequence, uint64_t rest = 0) const {
    const std::string cursor = CursorOfMessage(at_sequence, rest);
    return backwards ? kBackCursorPrefix + cursor : cursor;
  }
};

Result<MessagePlace> PlaceOf(const PageRequest& page) {
  MessagePlace place;
  if (!page.cursor.empty()) {
    const char* const end = page.cursor.data() + page.cursor.size();
    place.backwards = page.cursor.front() == kBackCursorPrefix;
    auto parsed = std::from_chars(page.cursor.data() + place.backwards, end, place.sequence);
    if (parsed.ec == std::errc() && parsed.ptr != end && *parsed.ptr == '-') {
      parsed = std::from_chars(parsed.ptr + 1, end, place.skip);
    }
    if (parsed.ec != std::errc() || parsed.ptr != end) {
      return Status(StatusCode::kInvalidArgument, "cursor: not one that this service gave");
    }
  }
  place.skip += std::min(page.offset, ~place.skip);
  return place;
}

bool Matches(const StoredMessage& message, const std::string& search) {
  return search.empty() || ContainsIgnoringCase(message::SearchText(message.json), search);
}

}  // namespace

Result<StoredMessage> ToMessage(std::string_view value, uint64_t sequence) {
  MessageRow row;
  if (!pack::FromBytes(value, row)) return DamagedState();
  return StoredMessage{std::move(row.id), sequence, std::move(row.json)};
}

Status ScanMessages(const DatabaseSnapshot& snapshot, const keys::ThreadKey& thread, uint64_t first,
                    bool backwards, const MessageRowUse& row) {
  const std::string prefix = keys::ThreadPrefix(keys::Table::kMessage, thread);
  const auto read = [&](std::string_view key, std::string_view value) {
    keys::Parser parser(key, keys::Table::kMessage);
    parser.Thread();
    return row(parser.Integer(), value);
  };
  return backwards ? snapshot.ScanBackwards(prefix, keys::Message(thread, first + 1), read)
                   : snapshot.Scan(keys::Message(thread, first), keys::PrefixEnd(prefix), read);
}

Result<StoredMessage> ReadMessage(const DatabaseSnapshot& snapshot, const keys::ThreadKey& thread,
                                  const std::string& message_id) {
  AG_ASSIGN_OR_RETURN(std::optional<uint64_t> sequence,
                      ReadRow<uint64_t>(snapshot, keys::MessageId(thread, message_id)));
  if (!sequence) return Status(StatusCode::kNotFound, "message not found");
  AG_ASSIGN_OR_RETURN(std::optional<std::string> value,
                      snapshot.Get(keys::Message(thread, *sequence)));
  if (!value) return DamagedState();
  return ToMessage(*value, *sequence);
}

uint64_t MessagesToSkip(const PageRequest& page) {
  const Result<MessagePlace> place = PlaceOf(page);
  return place.ok() ? place->skip : 0;
}

Result<MessagePage> ReadMessages(const DatabaseSnapshot& snapshot, const keys::ThreadKey& thread,
                                 const PageRequest& page) {
  AG_ASSIGN_OR_RETURN(std::optional<CountersRow> counters,
                      ReadRow<CountersRow>(snapshot, keys::Counters(thread)));
  AG_ASSIGN_OR_RETURN(MessagePlace place, PlaceOf(page));
  MessagePage result;
  if (!counters) return result;
  const uint64_t limit = std::min(page.limit, kPageItemsMax);
  uint64_t skip = place.skip;
  if (skip >= counters->messages || limit == 0) return result;
  // Without gaps, positions are sequence numbers.
  if (page.search.empty() && !place.backwards &&
      counters->messages + 1 == counters->next_sequence) {
    place.sequence += std::min(std::exchange(skip, 0), ~place.sequence);
  }
  uint64_t passed = 0;
  size_t bytes_passed = 0;
  size_t bytes = 0;
  Status damage;
  const auto take = [&](uint64_t sequence, std::string_view value) {
    const bool more = result.messages.size() == limit || bytes > kPageBytesMax ||
                      bytes_passed > kMessageBytesPassedMax || passed++ == kRowsPassedMax;
    if (more) {
      result.next_cursor = place.CursorAt(sequence, skip);
      return false;
    }
    bytes_passed += value.size();
    if (page.search.empty() && skip > 0) {
      --skip;
      return true;
    }
    Result<StoredMessage> message = ToMessage(value, sequence);
    if (!message.ok()) {
      damage = message.status();
      return false;
    }
    if (!Matches(*message, page.search)) return true;
    if (skip > 0) {
      --skip;
      return true;
    }
    bytes += message->json.size();
    if (bytes > kPageBytesMax && !result.messages.empty()) {
      result.next_cursor = place.CursorAt(sequence);
      return false;
    }
    result.messages.push_back(std::move(*message));
    return true;
  };
  AG_RETURN_IF_ERROR(ScanMessages(snapshot, thread, place.sequence, place.backwards, take));
  AG_RETURN_IF_ERROR(damage);
  return result;
}

}  // namespace agent_graph::state
