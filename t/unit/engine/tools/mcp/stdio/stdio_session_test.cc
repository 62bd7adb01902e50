#include "tools/mcp/stdio/stdio_session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "../../../net/on_fiber.h"
#include "agent_graph/json.h"

namespace agent_graph::tools::mcp {
namespace {

// Its output is always there, so that reading it never suspends the fiber.
class FloodingProgram : public process::Process {
 public:
  explicit FloodingProgram(std::string line) {
    while (output_.size() < 64 * 1024) output_ += line + "\n";
  }

  pid_t pid() const override { return 0; }
  Status Write(std::string_view, const runtime::Cancellation&, Deadline) override {
    return Status::Ok();
  }
  void CloseInput() override {}
  Result<std::string> ReadOutput(const runtime::Cancellation& cancellation, Deadline) override {
    return cancellation.cancelled() ? std::string() : output_;
  }
  Result<std::string> ReadErrors(const runtime::Cancellation&, Deadline) override {
    return std::string();
  }
  Result<process::ProcessEnd> Wait(const runtime::Cancellation&, Deadline) override {
    return process::ProcessEnd();
  }
  void Kill() override {}

 private:
  std::string output_;
};

class StdioSessionTest : public testing::OnFiber,
                         public ::testing::WithParamInterface<const char*> {};

TEST_P(StdioSessionTest, AFloodLeavesTheThreadToOthers) {
  std::atomic<int> logged{0};
  StdioSession::Events events;
  events.on_tools_changed = [] {};
  events.on_end = [](const std::shared_ptr<StdioSession>&, const std::string&) {};
  events.log = [&](LogLevel, const std::string&) { ++logged; };
  std::shared_ptr<StdioSession> session;
  Run([&] {
    session = std::make_shared<StdioSession>(std::make_unique<FloodingProgram>(GetParam()),
                                             std::move(events));
    session->Run();
  });
  for (int i = 0; i < 10; ++i) Run([] {});  // on the thread that reads the output
  Run([&] { session->End(); });
  EXPECT_LE(logged, kLogLinesMax + 1);
}

INSTANTIATE_TEST_SUITE_P(Lines, StdioSessionTest,
                         ::testing::Values("", "a log line", R"({"id":7,"result":{}})",
                                           R"({"method":"notifications/progress"})"));

}  // namespace
}  // namespace agent_graph::tools::mcp
