// Access of user code to its run: implements the SDK's RunContext and ToolContext.
#pragma once

#include <memory>
#include <string>
#include <unordered_set>

#include "agent_graph/json_fwd.h"
#include "agent_graph/run_context.h"
#include "agent_graph/tool.h"
#include "base/mutex.h"
#include "base/status.h"
#include "models/model.h"
#include "run/nodes/memory_access.h"
#include "run/nodes/user_emission.h"
#include "run/run_environment.h"
#include "tools/call/engine_tool_context.h"

namespace agent_graph::run {

// Context of one call of a user function. Used by the thread or fiber that runs the function, and
// shared, so that an abandoned function may outlive its run. CallModel and SleepFor block that
// thread (or suspend the fiber).
class FunctionContext : public RunContext, public std::enable_shared_from_this<FunctionContext> {
 public:
  // `step`: number of nodes that the run executed before.
  FunctionContext(RunEnvironmentPtr environment, std::string node, int64_t step, Deadline deadline,
                  std::shared_ptr<UserEmission> emission);

  const std::string& thread_id() const override { return environment_->thread_id; }
  const std::string& run_id() const override { return environment_->run_id; }
  const std::string& node() const override { return node_; }
  const json& user() const override { return *environment_->user; }
  const json& config() const override { return *environment_->config; }
  bool cancelled() const override { return environment_->cancellation.cancelled(); }
  bool SleepFor(std::chrono::milliseconds duration) override;
  bool EmitText(std::string_view piece) override;
  Message CallModel(const ModelCall& call) override;
  void Log(LogLevel level, std::string_view text) override;
  MemoryAccess& memories() override { return memories_; }

  // Id of the message that EmitText's deltas belong to; empty if nothing was emitted.
  const std::string& emitted_message_id() const { return emitted_message_id_; }
  // True if this context has generated the id. Thread-safe.
  bool HasMadeId(const std::string& message_id) const;
  // The failure of a model call for which the budget of the run or of its user did not suffice; Ok:
  // there was none. Thread-safe.
  Status budget_failure() const;

 private:
  Result<models::ModelReply> Generate(const ModelCall& call, const std::string& message_id);
  std::string MakeMessageId();

  const RunEnvironmentPtr environment_;
  const std::string node_;
  const Deadline deadline_;
  const std::shared_ptr<UserEmission> emission_;
  RunMemories memories_;
  std::string emitted_message_id_;
  mutable Mutex mutex_;
  Status budget_failure_ AG_GUARDED_BY(mutex_);
  std::unordered_set<std::string> made_ids_ AG_GUARDED_BY(mutex_);
};

// Context of one call of a tool, owned by its PendingCall. Used by the thread or fiber that runs
// the tool.
class CallContext : public tools::EngineToolContext {
 public:
  // `input` null: the call cannot ask the user.
  CallContext(RunEnvironmentPtr environment, std::string node, std::string call_id,
              std::string idempotency_key, Deadline deadline, tools::CallInput* input);

  const std::string& thread_id() const override { return environment_->thread_id; }
  const std::string& run_id() const override { return environment_->run_id; }
  const std::string& call_id() const override { return call_id_; }
  const std::string& idempotency_key() const override { return idempotency_key_; }
  const json& user() const override { return *environment_->user; }
  const json& config() const override { return *environment_->config; }
  bool cancelled() const override { return environment_->cancellation.cancelled(); }
  bool SleepFor(std::chrono::milliseconds duration) override;
  void Log(LogLevel level, std::string_view text) override;
  const runtime::Cancellation& cancellation() const override { return environment_->cancellation; }
  Deadline deadline() const override { return deadline_; }
  tools::CallInput* input() override { return input_; }
  tools::ReplyMemory* reply_memory() override { return reply_memory_; }
  void SetReplyMemory(tools::ReplyMemory* memory) { reply_memory_ = memory; }
  MemoryAccess& memories() override { return memories_; }

 private:
  const RunEnvironmentPtr environment_;
  const std::string node_;
  const std::string call_id_;
  const std::string idempotency_key_;
  const Deadline deadline_;
  tools::CallInput* const input_;
  tools::ReplyMemory* reply_memory_ = nullptr;
  RunMemories memories_;
};

}  // namespace agent_graph::run
