// Calls of a tool whose server asks the user.
#pragma once

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <utility>

#include "agent_graph/json.h"
#include "catalog_fixture.h"
#include "tools/call/call_input.h"

namespace agent_graph::tools {

inline const json kForm = {{"type", "object"}, {"properties", {{"name", {{"type", "string"}}}}}};
inline const json kAsk = {{"message", "Who?"}, {"requestedSchema", kForm}};
inline const json kBob = {{"action", "accept"}, {"content", {{"name", "Bob"}}}};

// A context of a call that may pause.
class AskingContext : public TestContext {
 public:
  CallInput* input() override { return &input_; }
  CallInput input_;
};

class McpElicitationTest : public CatalogTest {
 protected:
  ToolOutput Make(CallInput& input) {
    const ToolList list = List();
    if (list.empty()) return ToolOutput::Error("not listed");
    AskingContext context;
    context.input_ = std::move(input);
    ToolOutput output = Run([&] { return list[0]->tool.function({{"a", 1}}, context); });
    input = std::move(context.input_);
    std::lock_guard lock(remarks_mutex_);
    remarks_ += context.log;
    return output;
  }
  std::string remarks() {
    std::lock_guard lock(remarks_mutex_);
    return remarks_;
  }
  // The input of the next call, after the user has answered.
  static CallInput Answering(const CallInput& paused, const json& answer) {
    CallInput next;
    next.continuation = paused.pause->continuation;
    for (const Question& question : paused.pause->questions) {
      next.answers.push_back({question, answer});
    }
    return next;
  }

 private:
  std::mutex remarks_mutex_;
  std::string remarks_;
};

}  // namespace agent_graph::tools
