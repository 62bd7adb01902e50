#include "run/hand_over.h"

namespace agent_graph::run {

void HandOver::RequestNow() {
  Request();
  // Under the lock, so that a run that has finished its repeatable work is not cancelled.
  MutexLock lock(mutex_);
  now_ = true;
  if (repeatable_) cancellation_.Cancel(runtime::CancelReason::kShutdown);
}

HandOver::RepeatableWork::RepeatableWork(HandOver* hand_over) : hand_over_(hand_over) {
  if (hand_over_ == nullptr) return;
  MutexLock lock(hand_over_->mutex_);
  hand_over_->repeatable_ = true;
  if (hand_over_->now_) hand_over_->cancellation_.Cancel(runtime::CancelReason::kShutdown);
}

HandOver::RepeatableWork::~RepeatableWork() {
  if (hand_over_ == nullptr) return;
  MutexLock lock(hand_over_->mutex_);
  hand_over_->repeatable_ = false;
}

}  // namespace agent_graph::run
