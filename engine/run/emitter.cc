#include "run/emitter.h"

#include <utility>

namespace agent_graph::run {

void Emitter::SetNode(std::string node, int step) {
  node_ = std::move(node);
  step_ = step;
  has_shown_pieces_ = false;
}

Status Emitter::Start(const RunStart& start) {
  return Check(sink_.OnStart(start));
}

Status Emitter::Emit(const RunEvent& event) {
  return Check(sink_.OnEvent(event));
}

Status Emitter::EmitPiece(std::string_view message_id, std::string_view text,
                          std::string_view reasoning) {
  if (!sink_.wants_deltas() || (text.empty() && reasoning.empty())) return Status::Ok();
  has_shown_pieces_ = true;
  return Check(sink_.OnDelta({message_id, text, reasoning, node_, step_}));
}

Status Emitter::Check(Status status) {
  if (!status.ok()) cancellation_.Cancel(runtime::CancelReason::kClientGone);
  return status;
}

Status UserEmission::EmitPiece(std::string_view message_id, std::string_view text,
                               std::string_view reasoning) {
  Emitter* emitter;
  {
    std::lock_guard lock(mutex_);
    if (emitter_ == nullptr || busy_) {
      return Status(StatusCode::kCancelled, "nobody listens to this node any more");
    }
    busy_ = true;
    emitter = emitter_;
  }
  Status status = emitter->EmitPiece(message_id, text, reasoning);
  {
    std::lock_guard lock(mutex_);
    busy_ = false;
  }
  idle_.Notify();
  return status;
}

void UserEmission::Close() {
  for (;;) {
    {
      std::lock_guard lock(mutex_);
      emitter_ = nullptr;
      if (!busy_) return;
    }
    idle_.Wait(nullptr, kNoDeadline);
  }
}

}  // namespace agent_graph::run
