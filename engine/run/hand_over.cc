#include "run/hand_over.h"

namespace agent_graph::run {

void HandOver::RequestNow() {
  Request();
  // Under the lock, so that a run that has finished its repeatable work is not cancelled.
  MutexLock lock(mutex_);
  now_ = true;
  if (repeatable_) cancellation_.Cancel(runtime::CancelReason::kShutdown);
}

void HandOver::BeginRepeatable() {
  MutexLock lock(mutex_);
  repeatable_ = true;
  if (now_) cancellation_.Cancel(runtime::CancelReason::kShutdown);
}

void HandOver::EndRepeatable() {
  MutexLock lock(mutex_);
  repeatable_ = false;
}

HandOver::RepeatableWork::RepeatableWork(HandOver* hand_over) : hand_over_(hand_over) {
  if (hand_over_ != nullptr) hand_over_->BeginRepeatable();
}

HandOver::RepeatableWork::~RepeatableWork() {
  if (hand_over_ != nullptr) hand_over_->EndRepeatable();
}

}  // namespace agent_graph::run
