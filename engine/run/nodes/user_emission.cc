#include "run/nodes/user_emission.h"

#include <utility>

#include "base/clock.h"

namespace agent_graph::run {
namespace {

// Maximum of message ids that are logged for one function. If the worker dies during a further
// message, readers learn that pieces are void, but not of which message.
constexpr size_t kNamedMax = 256;

Status NoLongerWaits() {
  return Status(StatusCode::kCancelled, "the run no longer waits for this node");
}

// Only an accepted run, which can be handed over, has another attempt.
bool MayBeAttemptedAgain(const NodeRun& run) {
  return run.environment->hand_over != nullptr;
}

Status StorePlace(const NodeRun& run) {
  run.log.SetInUserCode(true);
  return run.log.Flush(run.node.name, run.step);
}

}  // namespace

Status UserEmission::WhileOpen(const std::function<Status(const NodeRun&)>& work) {
  const NodeRun* run = nullptr;
  while (run == nullptr) {
    runtime::Signal turn;
    {
      MutexLock lock(mutex_);
      if (run_ == nullptr) return NoLongerWaits();
      if (!std::exchange(busy_, true)) {
        run = run_;
        break;
      }
      waiting_.push_back(&turn);
    }
    turn.Wait(nullptr, kNoDeadline);
  }
  Status status = work(*run);
  MutexLock lock(mutex_);
  busy_ = false;
  // Notify while the lock is held: a waiter that goes on destroys its signal.
  for (runtime::Signal* turn : waiting_) turn->Notify();
  waiting_.clear();
  idle_.Notify();
  return status;
}

Status UserEmission::EmitPiece(std::string_view message_id, std::string_view text,
                               std::string_view reasoning) {
  return WhileOpen([&](const NodeRun& run) -> Status {
    if (!text.empty() || !reasoning.empty()) AG_RETURN_IF_ERROR(Name(run, message_id));
    return run.emitter.EmitPiece(message_id, text, reasoning);
  });
}

Status UserEmission::AwaitPiece(uint64_t bytes) {
  return WhileOpen([&](const NodeRun& run) { return run.emitter.AwaitPiece(bytes); });
}

Status UserEmission::HoldPiece(uint64_t bytes) {
  return WhileOpen([&](const NodeRun& run) {
    run.emitter.HoldPiece(bytes);
    return Status::Ok();
  });
}

Status UserEmission::Name(const NodeRun& run, std::string_view message_id) {
  if (!MayBeAttemptedAgain(run) || named_.contains(message_id) || named_.size() == kNamedMax) {
    return Status::Ok();
  }
  named_.emplace(message_id);
  run.log.Add(entry::ModelStarted{.node = run.node.name, .message_id = std::string(message_id)});
  AG_RETURN_IF_ERROR(StorePlace(run));
  // The position of a reader is then behind the entry that names the message.
  run.emitter.Stored(run.log_begin ? *run.log_begin + run.log.next_entry() : 0);
  return Status::Ok();
}

void UserEmission::LogModelCall(EntryBody call) {
  (void)WhileOpen([&](const NodeRun& run) -> Status {
    run.log.Add(std::move(call));
    const bool counts = run.environment->meter != nullptr && MayBeAttemptedAgain(run);
    return counts ? StorePlace(run) : Status::Ok();
  });
}

void UserEmission::Close() {
  for (;;) {
    {
      MutexLock lock(mutex_);
      run_ = nullptr;
      if (!busy_) return;
    }
    idle_.Wait(nullptr, kNoDeadline);
  }
}

}  // namespace agent_graph::run
