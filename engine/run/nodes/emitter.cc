#include "run/nodes/emitter.h"

#include <algorithm>
#include <utility>

namespace agent_graph::run {
namespace {

// Deltas are often only a few bytes, so the size of a reply in progress is reported in steps.
constexpr uint64_t kReportedReplyStep = 16 * 1024;
// Replies up to this size do not wait for memory.
constexpr uint64_t kFreeReplyBytes = 32 * 1024;

}  // namespace

void Emitter::SetNode(std::string node, int step) {
  node_ = std::move(node);
  step_ = step;
  has_shown_pieces_ = false;
}

void Emitter::HoldThread(uint64_t bytes) {
  thread_bytes_ = bytes;
  reply_bytes_ = reported_reply_bytes_ = awaited_reply_bytes_ = 0;
  sink_.OnHeld(thread_bytes_, 0);
}

Status Emitter::AwaitPiece(uint64_t bytes) {
  const uint64_t size = reply_bytes_ + bytes;
  if (size <= kFreeReplyBytes || size <= awaited_reply_bytes_) return Status::Ok();
  AG_RETURN_IF_ERROR(sink_.AwaitHeld(thread_bytes_, size + size / 2));
  awaited_reply_bytes_ = size + size / 2;
  return Status::Ok();
}

void Emitter::AwaitReply() {
  if (awaited_reply_bytes_ > 0) (void)sink_.AwaitHeld(thread_bytes_ + reply_bytes_, 0);
}

void Emitter::HoldPiece(uint64_t bytes) {
  reply_bytes_ += bytes;
  if (reply_bytes_ - reported_reply_bytes_ < kReportedReplyStep) return;
  reported_reply_bytes_ = reply_bytes_;
  sink_.OnHeld(thread_bytes_, std::max(reply_bytes_, awaited_reply_bytes_));
}

Status Emitter::Start(const RunStart& start) {
  return Check(sink_.OnStart(start));
}

Status Emitter::Emit(const RunEvent& event) {
  return Check(sink_.OnEvent(event));
}

Status Emitter::EmitPiece(std::string_view message_id, std::string_view text,
                          std::string_view reasoning) {
  HoldPiece(text.size() + reasoning.size());
  if (!sink_.wants_deltas() || (text.empty() && reasoning.empty())) return Status::Ok();
  has_shown_pieces_ = true;
  return Check(sink_.OnDelta({message_id, text, reasoning, node_, step_}));
}

Status Emitter::Check(Status status) {
  if (!status.ok()) cancellation_.Cancel(runtime::CancelReason::kClientGone);
  return status;
}

}  // namespace agent_graph::run
