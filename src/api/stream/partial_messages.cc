#include "api/stream/partial_messages.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace agent_graph::api {
namespace {

// A function may stream any number of messages before one of them is stored. The parts of more
// messages are forgotten: their readers get them again, as a whole.
constexpr size_t kPartsMax = 64;

}  // namespace

void PartialMessages::Resume(const run::Cursor& cursor, std::string message_id) {
  if (cursor.reasoning_bytes == 0 && cursor.text_bytes == 0) return;
  parts_.push_back(
      {std::move(message_id), cursor.lease_epoch, cursor.reasoning_bytes, cursor.text_bytes});
}

const MessagePart* PartialMessages::Find(std::string_view message_id, uint64_t lease_epoch) {
  for (MessagePart& part : parts_) {
    if (part.lease_epoch != lease_epoch) continue;
    if (part.message_id.empty()) part.message_id = message_id;
    if (part.message_id == message_id) return &part;
  }
  return nullptr;
}

void PartialMessages::Update(std::string_view message_id, uint64_t lease_epoch,
                             uint64_t reasoning_bytes, uint64_t text_bytes) {
  Forget(message_id);
  if (parts_.size() == kPartsMax) parts_.erase(parts_.begin());
  parts_.push_back({std::string(message_id), lease_epoch, reasoning_bytes, text_bytes});
}

void PartialMessages::Complete(std::string_view message_id) {
  Forget(message_id);
  if (complete_.size() == kPartsMax) complete_.erase(complete_.begin());
  complete_.push_back(std::hash<std::string_view>{}(message_id));
}

void PartialMessages::Name(std::string_view message_id, uint64_t lease_epoch) {
  for (MessagePart& part : parts_) {
    if (part.message_id.empty() && part.lease_epoch == lease_epoch) part.message_id = message_id;
  }
}

void PartialMessages::EndNode(uint64_t lease_epoch) {
  std::vector<MessagePart> over;
  for (const MessagePart& part : parts_) {
    if (part.lease_epoch == lease_epoch) over.push_back(part);
  }
  for (const MessagePart& part : over) Complete(part.message_id);
}

bool PartialMessages::IsComplete(std::string_view message_id) const {
  return std::ranges::find(complete_, std::hash<std::string_view>{}(message_id)) != complete_.end();
}

void PartialMessages::Forget(std::string_view message_id) {
  std::erase_if(parts_, [&](const MessagePart& part) { return part.message_id == message_id; });
}

std::vector<MessagePart> PartialMessages::TakeVoid(uint64_t lease_epoch) {
  std::vector<MessagePart> taken;
  for (const MessagePart& part : parts_) {
    if (part.lease_epoch < lease_epoch) taken.push_back(part);
  }
  std::erase_if(parts_, [&](const MessagePart& part) { return part.lease_epoch < lease_epoch; });
  return taken;
}

std::string_view TextBehind(std::string_view text, uint64_t offset) {
  if (offset >= text.size()) return {};
  text.remove_prefix(offset);
  while (!text.empty() && (static_cast<unsigned char>(text.front()) & 0xc0) == 0x80) {
    text.remove_prefix(1);
  }
  return text;
}

}  // namespace agent_graph::api
