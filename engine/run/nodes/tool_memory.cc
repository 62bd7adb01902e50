#include "run/nodes/tool_memory.h"

#include <algorithm>

#include "base/json_weight.h"

namespace agent_graph::run {

ToolMemory::Reply::~Reply() {
  if (has_turn_) memory_.EndTurn();
}

Status ToolMemory::Reply::Await(uint64_t bytes) {
  if (!has_turn_) {
    AG_RETURN_IF_ERROR(memory_.BeginTurn(deadline_));
    has_turn_ = true;
  }
  if (bytes <= memory_.turn_bytes_) return Status::Ok();
  AG_RETURN_IF_ERROR(memory_.calls_.AwaitMemory(bytes - memory_.turn_bytes_));
  memory_.turn_bytes_ = bytes;
  return Status::Ok();
}

void ToolMemory::Keep(std::string_view output_json) {
  kept_bytes_ += JsonWeight(output_json).bytes() + json_weight::kMessage;
  Report();
}

Status ToolMemory::BeginTurn(Deadline deadline) {
  if (!is_taken_) {
    is_taken_ = true;
    return Status::Ok();
  }
  const auto waiter = waiters_.emplace(waiters_.end());
  const runtime::WakeReason reason = waiter->signal.Wait(&cancellation_, deadline);
  const bool has_turn = waiter->has_turn;
  waiters_.erase(waiter);
  return has_turn ? Status::Ok() : runtime::WakeStatus(reason, &cancellation_);
}

void ToolMemory::EndTurn() {
  turn_bytes_ = 0;
  Report();
  const auto next = std::ranges::find(waiters_, false, &Waiter::has_turn);
  is_taken_ = next != waiters_.end();
  if (!is_taken_) return;
  next->has_turn = true;
  next->signal.Notify();
}

void ToolMemory::Report() {
  calls_.HoldCalls(kept_bytes_ + turn_bytes_);
}

}  // namespace agent_graph::run
