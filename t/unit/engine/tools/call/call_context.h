// The context of a tool call outside a run.
#pragma once

#include <string>

#include "agent_graph/json.h"
#include "tools/call/engine_tool_context.h"

namespace agent_graph::tools {

class TestContext : public EngineToolContext {
 public:
  explicit TestContext(runtime::Cancellation cancellation = {}, Deadline deadline = kNoDeadline)
      : cancellation_(std::move(cancellation)), deadline_(deadline) {}

  const std::string& thread_id() const override { return text_; }
  const std::string& run_id() const override { return text_; }
  const std::string& call_id() const override { return text_; }
  const std::string& idempotency_key() const override { return key_; }
  const json& user() const override { return object_; }
  const json& config() const override { return object_; }
  bool cancelled() const override { return cancellation_.cancelled(); }
  bool SleepFor(std::chrono::milliseconds) override { return true; }
  void Log(LogLevel, std::string_view text) override { log.append(text).push_back('\n'); }
  const runtime::Cancellation& cancellation() const override { return cancellation_; }
  Deadline deadline() const override { return deadline_; }

  std::string log;

 private:
  const runtime::Cancellation cancellation_;
  const Deadline deadline_;
  std::string text_;
  std::string key_ = "key-1";
  json object_ = json::object();
};

}  // namespace agent_graph::tools
