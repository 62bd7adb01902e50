#include "run/host/direct_sink.h"

namespace agent_graph::run {
namespace {

// Most runs of clients are never followed, and thousands of them may wait for slow clients.
constexpr size_t kUnfollowedBytesMax = 64 * 1024;

}  // namespace

DirectSink::~DirectSink() {
  if (live_ != nullptr) runs_.Remove(thread_id_, run_id_, *live_);
  Count(0);
}

Status DirectSink::OnStart(const RunStart& start) {
  if (start.thread_number != 0) {
    thread_id_ = start.thread_id;
    run_id_ = start.run_id;
    live_ = std::make_shared<LiveRun>(kUnfollowedBytesMax);
    live_->Begin(start);
    collects_ = client_.wants_deltas();
    runs_.Add(thread_id_, run_id_, live_);
  }
  return client_.OnStart(start);
}

// Events arrive when their entries are stored.
Status DirectSink::OnEvent(const RunEvent& event) {
  SetStored(event.log_end);
  return client_.OnEvent(event);
}

Status DirectSink::OnDelta(const RunDelta& delta) {
  if (collects_) live_->AddPiece(delta);
  return client_.wants_deltas() ? client_.OnDelta(delta) : Status::Ok();
}

void DirectSink::OnStored(uint64_t log_end) {
  SetStored(log_end);
  client_.OnStored(log_end);
}

void DirectSink::SetStored(uint64_t log_end) {
  if (live_ == nullptr) return;
  live_->SetStored(log_end);
  collects_ = collects_ || live_->is_followed();
}

void DirectSink::OnHeld(uint64_t thread_bytes, uint64_t reply_bytes) {
  client_.OnHeld(thread_bytes, reply_bytes);
  if (live_ != nullptr) Count(live_->partial_bytes());
}

void DirectSink::Count(uint64_t bytes) {
  if (bytes == counted_) return;
  runs_.CountBytes(static_cast<int64_t>(bytes) - static_cast<int64_t>(counted_));
  counted_ = bytes;
}

}  // namespace agent_graph::run
