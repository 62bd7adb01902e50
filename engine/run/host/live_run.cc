#include "run/host/live_run.h"

#include <algorithm>

namespace agent_graph::run {
namespace {

std::string Behind(const std::string& text, uint64_t offset) {
  return offset < text.size() ? text.substr(offset) : std::string();
}

}  // namespace

LiveRun::View LiveRun::Read(const std::string& message_id, uint64_t reasoning_bytes,
                            uint64_t text_bytes) const {
  MutexLock lock(mutex_);
  View view;
  view.version = version_;
  view.lease_epoch = lease_epoch_;
  view.log_end = log_end_;
  view.ended = ended_;
  if (!partial_) return view;
  const bool same = partial_->message_id == message_id;
  view.partial = Partial{};
  view.partial->message_id = partial_->message_id;
  view.partial->node = partial_->node;
  view.partial->step = partial_->step;
  view.partial->reasoning = Behind(partial_->reasoning, same ? reasoning_bytes : 0);
  view.partial->text = Behind(partial_->text, same ? text_bytes : 0);
  return view;
}

Status LiveRun::Await(uint64_t version, const runtime::Cancellation& cancellation,
                      Deadline deadline) const {
  runtime::Signal signal;
  {
    MutexLock lock(mutex_);
    if (version_ != version) return Status::Ok();
    waiting_.push_back(&signal);
  }
  const runtime::WakeReason reason = signal.Wait(&cancellation, deadline);
  MutexLock lock(mutex_);
  std::erase(waiting_, &signal);
  if (version_ != version) return Status::Ok();
  return runtime::WakeStatus(reason, &cancellation);
}

void LiveRun::Begin(const RunStart& start) {
  MutexLock lock(mutex_);
  lease_epoch_ = start.lease_epoch;
  log_end_ = start.log_index;
  DropPartial();
  Changed();
}

void LiveRun::AddPiece(const RunDelta& delta) {
  MutexLock lock(mutex_);
  if (!partial_ || partial_->message_id != delta.message_id) {
    if (std::ranges::find(left_, delta.message_id) != left_.end()) return;
    if (partial_) left_.push_back(partial_->message_id);
    partial_ = Partial{};
    partial_->message_id = delta.message_id;
    partial_->node = delta.node;
    partial_->step = delta.step;
    is_full_ = false;
  }
  const size_t bytes = partial_->reasoning.size() + partial_->text.size();
  const size_t bytes_max = is_followed() ? kPartialBytesMax : unfollowed_bytes_max_;
  is_full_ = is_full_ || bytes + delta.reasoning.size() + delta.text.size() > bytes_max;
  if (is_full_) return;
  partial_->reasoning.append(delta.reasoning);
  partial_->text.append(delta.text);
  Changed();
}

// A node's messages are stored together, so no message is in progress then.
void LiveRun::SetStored(uint64_t log_end) {
  MutexLock lock(mutex_);
  DropPartial();
  log_end_ = std::max(log_end_, log_end);
  Changed();
}

void LiveRun::End() {
  MutexLock lock(mutex_);
  DropPartial();
  ended_ = true;
  Changed();
}

uint64_t LiveRun::partial_bytes() const {
  MutexLock lock(mutex_);
  return partial_ ? partial_->reasoning.size() + partial_->text.size() : 0;
}

void LiveRun::WakeOne() {
  MutexLock lock(mutex_);
  ++version_;
  if (waiting_.empty()) return;
  waiting_.back()->Notify();
  waiting_.pop_back();
}

void LiveRun::DropPartial() {
  partial_.reset();
  left_.clear();
}

void LiveRun::Changed() {
  ++version_;
  for (runtime::Signal* signal : waiting_) signal->Notify();
  waiting_.clear();
}

}  // namespace agent_graph::run
