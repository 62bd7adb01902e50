#include "run/nodes/emitter.h"

#include <utility>

namespace agent_graph::run {
namespace {

// Deltas are often only a few bytes, so the size of a reply in progress is reported in steps.
constexpr uint64_t kReportedReplyStep = 16 * 1024;

}  // namespace

void Emitter::SetNode(std::string node, int step) {
  node_ = std::move(node);
  step_ = step;
  has_shown_pieces_ = false;
}

void Emitter::HoldThread(uint64_t bytes) {
  thread_bytes_ = bytes;
  reply_bytes_ = reported_reply_bytes_ = 0;
  sink_.OnHeld(thread_bytes_, 0);
}

void Emitter::HoldPiece(uint64_t bytes) {
  reply_bytes_ += bytes;
  if (reply_bytes_ - reported_reply_bytes_ < kReportedReplyStep) return;
  reported_reply_bytes_ = reply_bytes_;
  sink_.OnHeld(thread_bytes_, reply_bytes_);
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
