#include "tools/call/reply_memory.h"

namespace agent_graph::tools {
namespace {

constexpr uint64_t kFreeReplyBytes = 32 * 1024;
// JsonWeight assumes that values become messages, and text again. A reply is only parsed, so its
// structure takes this fraction (1/4) of that memory.
constexpr uint64_t kStructureParts = 4;

}  // namespace

Status ReplySize::Add(std::string_view piece) {
  if (memory_ == nullptr) return Status::Ok();
  weight_.Add(piece);
  const uint64_t structure = weight_.structure();
  const uint64_t bytes = weight_.bytes() - structure + structure / kStructureParts;
  if (bytes <= kFreeReplyBytes || bytes <= awaited_) return Status::Ok();
  awaited_ = bytes + bytes / 2;
  Status room = memory_->Await(awaited_);
  if (room.code() != StatusCode::kResourceExhausted) return room;
  return Status(StatusCode::kUnavailable, "this worker has too little free memory for the reply");
}

}  // namespace agent_graph::tools
