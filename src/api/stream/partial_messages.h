// The parts of messages that a reader of a stream has, while the messages are not in the log yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "run/log/cursor.h"

namespace agent_graph::api {

// The part of one message. The id is empty if the part is known from a cursor only.
struct MessagePart {
  std::string message_id;
  uint64_t lease_epoch = 0;  // of the attempt that produced it
  uint64_t reasoning_bytes = 0;
  uint64_t text_bytes = 0;
};

// Used by the fiber of one follower.
class PartialMessages {
 public:
  // The reader comes with a cursor that is inside a message.
  void Resume(const run::Cursor& cursor);

  // Returns the part that the reader has of this message. A part without an id that the same
  // attempt produced is taken as this message's: it is the first one after the cursor. Null: none.
  const MessagePart* Find(std::string_view message_id, uint64_t lease_epoch);
  // The reader got more: it now has so much of the message.
  void Update(std::string_view message_id, uint64_t lease_epoch, uint64_t reasoning_bytes,
              uint64_t text_bytes);
  // The part that was updated last; null: none.
  const MessagePart* latest() const { return parts_.empty() ? nullptr : &parts_.back(); }
  bool empty() const { return parts_.empty(); }
  size_t size() const { return parts_.size(); }

  // The message is complete: the part is no longer needed.
  void Forget(std::string_view message_id);
  // Removes and returns the parts of attempts before `lease_epoch`: they are void.
  std::vector<MessagePart> TakeVoid(uint64_t lease_epoch);

 private:
  std::vector<MessagePart> parts_;
};

// Returns `text` from `offset` on, or from the next character if the offset is inside one.
std::string_view TextBehind(std::string_view text, uint64_t offset);

}  // namespace agent_graph::api
