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
  uint64_t lease_epoch = 0;  // the lease of the attempt that produced it
  uint64_t reasoning_bytes = 0;
  uint64_t text_bytes = 0;
};

// Used by the fiber of one follower.
class PartialMessages {
 public:
  // The reader comes with a cursor that is inside a message; `message_id` is empty if not known.
  void Resume(const run::Cursor& cursor, std::string message_id);

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

  // Call when the reader has the whole message, or is about to get it: removes its part.
  void Complete(std::string_view message_id);
  // Call when the log names a message that a model has begun: sets the id of the attempt's part
  // that has none.
  void Name(std::string_view message_id, uint64_t lease_epoch);
  // Call when a node of the attempt has ended: removes parts of messages that were not stored,
  // because they never will be.
  void EndNode(uint64_t lease_epoch);
  // True for the messages that were completed last. Their pieces may still be on their way.
  bool IsComplete(std::string_view message_id) const;
  // Removes and returns the parts of attempts before `lease_epoch`: they are void.
  std::vector<MessagePart> TakeVoid(uint64_t lease_epoch);

 private:
  void Forget(std::string_view message_id);

  std::vector<MessagePart> parts_;
  std::vector<size_t> complete_;  // hashes of ids, oldest first
};

// Returns `text` from `offset` on, or from the next character if the offset is inside one.
std::string_view TextBehind(std::string_view text, uint64_t offset);

}  // namespace agent_graph::api
