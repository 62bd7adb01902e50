#include "service/trial.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

namespace agent_graph::service {
namespace {

Result<std::string> Try(std::function<Result<std::string>()> function,
                        std::chrono::seconds limit = kTrialLimit) {
  return TryInChild(
      {.graph = "/g/agent.so", .bytes_max = 20000, .limit = limit, .function = [&](int&) {
         return function();
       }});
}

TEST(Trial, ReturnsWhatTheFunctionReturns) {
  EXPECT_EQ(*Try([] { return std::string(10000, 'x'); }), std::string(10000, 'x'));
  EXPECT_EQ(*Try([] { return std::string(); }), "");
  EXPECT_EQ(Try([] { return GraphFailure("no such node"); }).status(),
            GraphFailure("no such node"));
}

TEST(Trial, CutsLongReports) {
  EXPECT_LE(Try([] { return std::string(50000, 'x'); })->size(), 20000u);
}

TEST(Trial, TurnsExceptionsIntoFailures) {
  const auto thrown = Try([]() -> Result<std::string> { throw std::runtime_error("no file"); });
  EXPECT_EQ(thrown.status().message(), "unexpected exception: no file");
  const auto number = Try([]() -> Result<std::string> { throw 1; });
  EXPECT_EQ(number.status().message(), "unexpected exception");
}

TEST(Trial, SaysHowTheChildEnded) {
  const auto crash = Try([] {
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer would report it
    std::raise(SIGSEGV);
    return std::string();
  });
  EXPECT_EQ(crash.status().message(),
            "/g/agent.so: loading the graph crashed (Segmentation fault)");
  const auto exit = Try([]() -> Result<std::string> { _exit(0); });
  EXPECT_EQ(exit.status().message(), "/g/agent.so: loading the graph ended the process");
}

TEST(Trial, EndsAChildThatHangs) {
  const auto hanging = Try(
      []() -> Result<std::string> {
        for (;;) pause();
      },
      std::chrono::seconds(0));
  EXPECT_EQ(hanging.status().message(),
            "/g/agent.so: loading the graph takes longer than 0 seconds");
}

TEST(Trial, LeavesNoChild) {
  (void)Try([] { return std::string(); });
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

}  // namespace
}  // namespace agent_graph::service
