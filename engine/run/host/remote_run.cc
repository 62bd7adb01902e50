#include "run/host/remote_run.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace agent_graph::run {

RemoteRun::RemoteRun(state::Service& state, CountBytes count_bytes, std::string thread_id,
                     uint64_t thread_number, std::string run_id)
    : state_(state), count_bytes_(std::move(count_bytes)) {
  known_.thread_id = std::move(thread_id);
  known_.thread_number = thread_number;
  known_.run_id = std::move(run_id);
}

RemoteRun::~RemoteRun() {
  if (count_bytes_ && counted_ > 0) count_bytes_(-static_cast<int64_t>(counted_));
}

bool RemoteRun::TakeLead() {
  MutexLock lock(mutex_);
  return !std::exchange(has_leader_, true);
}

void RemoteRun::LeaveLead() {
  {
    MutexLock lock(mutex_);
    has_leader_ = false;
  }
  // One of the others asks next, while this follower serves its client.
  live_.WakeOne();
}

Status RemoteRun::Await(uint64_t version, const state::Scope& scope,
                        const runtime::Cancellation& cancellation, Deadline deadline) {
  if (!TakeLead()) {
    const Status waited = live_.Await(version, cancellation, deadline);
    return waited.code() == StatusCode::kDeadlineExceeded ? Status::Ok() : waited;
  }
  const Status asked = Ask(scope, cancellation, deadline);
  LeaveLead();
  return asked;
}

Status RemoteRun::Ask(const state::Scope& scope, const runtime::Cancellation& cancellation,
                      Deadline deadline) {
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(deadline - MonotonicClock::now());
  known_.scope = scope;
  known_.wait_ms = std::clamp<int64_t>(wait.count(), 0, state::kFollowWaitMsMax);
  const Result<state::WatchRunReply> reply = state_.WatchRun(known_, &cancellation);
  if (reply.ok()) {
    Apply(*reply);
  } else if (reply.status().code() == StatusCode::kNotFound) {
    live_.End();  // each follower then asks the state itself why the run ended
  }
  return reply.status();
}

void RemoteRun::Apply(const state::WatchRunReply& reply) {
  if (reply.ended) return live_.End();
  const bool is_next_attempt = reply.lease_epoch != known_.lease_epoch;
  if (is_next_attempt) {
    RunStart start;
    start.lease_epoch = reply.lease_epoch;
    start.log_index = reply.log_end;
    live_.Begin(start);
  } else if (reply.log_end != known_.log_end || (!reply.piece && !known_.message_id.empty())) {
    live_.SetStored(reply.log_end);
  }
  if (is_next_attempt || reply.log_end != known_.log_end || !reply.piece) {
    known_.message_id.clear();
    known_.reasoning_bytes = known_.text_bytes = 0;
  }
  known_.lease_epoch = reply.lease_epoch;
  known_.log_end = reply.log_end;
  if (reply.piece) {
    const state::MessagePiece& piece = *reply.piece;
    if (piece.message_id != known_.message_id) known_.reasoning_bytes = known_.text_bytes = 0;
    // A piece at another position continues a dropped part; the next answer has the whole message.
    if (piece.reasoning_begin == known_.reasoning_bytes && piece.text_begin == known_.text_bytes) {
      live_.AddPiece({piece.message_id, piece.text, piece.reasoning, piece.node,
                      static_cast<int>(piece.step)});
      known_.message_id = piece.message_id;
      known_.reasoning_bytes += piece.reasoning.size();
      known_.text_bytes += piece.text.size();
    }
  }
  const uint64_t bytes = live_.partial_bytes();
  if (count_bytes_ && bytes != counted_) {
    count_bytes_(static_cast<int64_t>(bytes) - static_cast<int64_t>(counted_));
  }
  counted_ = bytes;
}

std::shared_ptr<RemoteRun> RemoteRuns::Join(const std::string& thread_id, uint64_t thread_number,
                                            const std::string& run_id) {
  MutexLock lock(mutex_);
  if (runs_.size() >= sweep_at_) {
    std::erase_if(runs_, [](const auto& run) { return run.second.expired(); });
    sweep_at_ = std::max<size_t>(64, 2 * runs_.size());
  }
  std::weak_ptr<RemoteRun>& place = runs_[Key(thread_id, thread_number, run_id)];
  std::shared_ptr<RemoteRun> run = place.lock();
  if (run == nullptr) {
    run = std::make_shared<RemoteRun>(state_, count_bytes_, thread_id, thread_number, run_id);
    place = run;
  }
  return run;
}

}  // namespace agent_graph::run
