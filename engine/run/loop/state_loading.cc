// Runner: loading the state of a thread whose lease it has, as far as the reply does not contain
// it.
#include <utility>

#include "run/context/window_cache.h"
#include "run/loop/runner.h"
#include "state/requests.h"
#include "state/service.h"

namespace agent_graph::run {

Status Runner::LoadOmitted(const RunRequest& request, BegunRun& begun,
                           const AwaitMemory& await_memory) {
  if (begun.reply.omitted_bytes == 0) return Status::Ok();
  Status status = await_memory(begun.reply.omitted_bytes);
  if (!status.ok()) {
    Abandon(request, begun, status);
    return status;
  }
  Result<state::ThreadState> loaded = state_->GetState(request.scope, begun.environment->thread_id);
  if (!loaded.ok()) return AbandonUnloaded(request, begun, loaded.status());
  begun.reply.state = *std::move(loaded);
  return Status::Ok();
}

Status Runner::LoadUpTo(const RunRequest& request, BegunRun& begun) {
  Result<state::GetStateUpToReply> loaded =
      state_->GetStateUpTo({request.scope, begun.environment->thread_id, kReplyBytesMax});
  if (!loaded.ok()) return AbandonUnloaded(request, begun, loaded.status());
  begun.reply.state = std::move(loaded->state);
  begun.reply.omitted_bytes = loaded->omitted_bytes;
  return Status::Ok();
}

Status Runner::AbandonUnloaded(const RunRequest& request, const BegunRun& begun, Status failure) {
  // Deleted meanwhile, or deleted and created again by another user.
  if (failure.code() == StatusCode::kNotFound) {
    failure = Status(StatusCode::kFenced, "the run lost its thread");
  }
  Abandon(request, begun, failure);
  return failure;
}

std::optional<state::KnownWindow> Runner::KnownWindowOf(const RunRequest& request) const {
  WindowCache* const windows = options_.services.windows;
  if (windows == nullptr || request.thread_id.empty()) return std::nullopt;
  return windows->Find(request.thread_id);
}

Status Runner::TakeKeptWindow(const RunRequest& request, BegunRun& begun,
                              std::vector<Message>& messages, const AwaitMemory& await_memory) {
  std::optional<DecodedWindow> window = options_.services.windows->Take(request.thread_id);
  if (window) {
    Result<std::vector<Message>> complete = CompleteWindow(*std::move(window), begun.reply);
    if (complete.ok()) {
      messages = *std::move(complete);
      const uint64_t bytes = WindowWeight(begun.reply.state.window);
      if (bytes <= kReplyBytesMax) return Status::Ok();
      Status status = await_memory(bytes);
      if (!status.ok()) Abandon(request, begun, status);
      return status;
    }
  }
  // The window was dropped after the run had asked for its lease.
  return LoadUpTo(request, begun);
}

}  // namespace agent_graph::run
