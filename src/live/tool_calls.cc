#include "live/tool_calls.h"

#include <utility>

#include "agent_graph/state.h"
#include "base/ids.h"
#include "base/json.h"
#include "run/nodes/tool_node.h"
#include "runtime/runtime.h"

namespace agent_graph::live {
namespace {

constexpr size_t kBatchesMax = 16;  // concurrent batches of one session

std::string ErrorJson(const std::string& reason) {
  std::string out = "{\"error\":";
  AppendJsonString(out, reason);
  out.push_back('}');
  return out;
}

// The state for the tool node: one message with calls and no results.
State StateOf(const std::vector<realtime::ToolCall>& calls) {
  Message message;
  message.id = NewUuid();
  message.role = Role::kAssistant;
  for (const realtime::ToolCall& call : calls) {
    message.content.emplace_back(ToolCallBlock{call.id, call.name, call.arguments_json});
  }
  State state;
  state.mutable_messages().push_back(std::move(message));
  return state;
}

void Fail(const realtime::ToolCall& call, const std::string& reason, FinishedCalls& finished) {
  const std::string error = ErrorJson(reason);
  finished.replies.push_back({call.id, call.name, error, true});
  finished.messages.push_back(Message::ToolResult(call.id, error, true));
}

std::string NameOf(const std::vector<realtime::ToolCall>& calls, const std::string& id) {
  for (const realtime::ToolCall& call : calls) {
    if (call.id == id) return call.name;
  }
  return "";
}

}  // namespace

// The memory of one batch, as a part of that of the session.
class ToolCalls::BatchMemory final : public run::CallMemory {
 public:
  explicit BatchMemory(ToolCalls& calls) : calls_(calls) {}
  ~BatchMemory() override { HoldCalls(0); }

  Status AwaitMemory(uint64_t bytes) override {
    if (calls_.memory_ == nullptr) return Status(StatusCode::kCancelled, "the session has ended");
    ++calls_.awaiting_memory_;
    Status room = calls_.memory_->AwaitMemory(bytes);
    --calls_.awaiting_memory_;
    calls_.idle_.Notify();
    if (!room.ok()) return room;
    held_bytes_ += bytes;
    calls_.held_bytes_ += bytes;
    return room;
  }

  void HoldCalls(uint64_t bytes) override {
    calls_.held_bytes_ -= held_bytes_;
    calls_.held_bytes_ += bytes;
    held_bytes_ = bytes;
    calls_.ReportMemory();
  }

  // Returns what the batch holds, which counts until it is released.
  uint64_t Keep() { return std::exchange(held_bytes_, 0); }

 private:
  ToolCalls& calls_;
  uint64_t held_bytes_ = 0;
};

ToolCalls::ToolCalls(std::shared_ptr<Journal> journal, std::function<void()> on_finished,
                     run::CallMemory* memory)
    : journal_(std::move(journal)), on_finished_(std::move(on_finished)), memory_(memory) {}

void ToolCalls::Offer(std::string tool_node, run::OfferedTools tools) {
  tool_node_ = std::move(tool_node);
  offered_ = std::move(tools);
}

void ToolCalls::Call(std::vector<realtime::ToolCall> calls, uint64_t number) {
  if (running_ >= kBatchesMax) {
    FinishedCalls refused;
    refused.number = number;
    for (const realtime::ToolCall& call : calls) Fail(call, "too many tool calls at once", refused);
    return Finish(std::move(refused));
  }
  Batch batch{tool_node_, {}, {}};
  batch.finished.number = number;
  for (realtime::ToolCall& call : calls) {
    // The tool may exist, but is not offered in this session.
    if (run::FindTool(offered_, call.name) == nullptr) {
      Fail(call, "there is no tool named \"" + call.name + "\"", batch.finished);
    } else if (call.broken) {
      Fail(call, "the arguments of \"" + call.name + "\" are not a JSON object", batch.finished);
    } else {
      batch.calls.push_back(std::move(call));
    }
  }
  if (batch.calls.empty()) return Finish(std::move(batch.finished));
  ++running_;
  journal_->environment()->runtime->Spawn(
      [self = shared_from_this(), batch = std::move(batch)]() mutable { self->Run(batch); },
      /*here=*/true);
}

void ToolCalls::Run(Batch& batch) {
  run::RunLog log = journal_->MakeLog();
  BatchMemory memory(*this);
  Result<NodeResult> result = run::RunToolNode(journal_->environment(), batch.tool_node,
                                               StateOf(batch.calls), 1, log, {.memory = &memory});
  if (result.ok()) {
    (void)log.Flush(batch.tool_node, 1);
    journal_->TakeToolRecord(log);
    for (Message& message : result->messages) {
      for (const ToolResultBlock* block : message.ToolResults()) {
        batch.finished.replies.push_back({block->call_id, NameOf(batch.calls, block->call_id),
                                          block->output_json, block->is_error});
      }
      batch.finished.messages.push_back(std::move(message));
    }
  } else {
    for (const realtime::ToolCall& call : batch.calls) {
      Fail(call, "the call failed", batch.finished);
    }
  }
  --running_;
  batch.finished.held_bytes = memory.Keep();
  Finish(std::move(batch.finished));
  idle_.Notify();
}

void ToolCalls::Finish(FinishedCalls finished) {
  if (!on_finished_) return;
  finished_.push_back(std::move(finished));
  on_finished_();
}

std::optional<FinishedCalls> ToolCalls::TakeFinished() {
  if (const uint64_t taken = std::exchange(taken_bytes_, 0); taken > 0) {
    held_bytes_ -= taken;
    ReportMemory();
  }
  if (finished_.empty()) return std::nullopt;
  FinishedCalls finished = std::move(finished_.front());
  finished_.pop_front();
  taken_bytes_ = finished.held_bytes;
  return finished;
}

void ToolCalls::ReportMemory() {
  if (memory_ != nullptr) memory_->HoldCalls(held_bytes_);
}

void ToolCalls::Abandon() {
  on_finished_ = nullptr;
  memory_ = nullptr;
}

void ToolCalls::Wait(Deadline deadline) {
  // Waits for memory end at once when they are cancelled.
  while (awaiting_memory_ > 0) idle_.Wait(nullptr, kNoDeadline);
  while (running_ > 0) {
    if (idle_.Wait(nullptr, deadline) == runtime::WakeReason::kDeadline) return;
  }
}

}  // namespace agent_graph::live
