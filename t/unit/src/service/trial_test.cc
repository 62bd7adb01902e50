#include "service/trial.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <stdexcept>

#include "graph/shared_object.h"

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

TEST(Trial, NamesTheSharedObjectThatCrashed) {
  const auto crash = Try([] {
    (void)graph::FindExport("/g/agent.so", nullptr, "graph");
    (void)graph::FindExport("/g/keys.so", nullptr, "keys");
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer would report it
    std::raise(SIGSEGV);
    return std::string();
  });
  EXPECT_EQ(crash.status().message(), "/g/keys.so: loading it crashed (Segmentation fault)");
  EXPECT_EQ(*Try([] {
    (void)graph::FindExport("/g/keys.so", nullptr, "keys");
    return std::string("@fine");
  }),
            "@fine");
}

TEST(Trial, ReportsAnExceptionThatNobodyCatches) {
  const auto thrown = Try([] {
    const auto constructor = [](const std::function<void()>& body) noexcept { body(); };
    constructor([] { throw std::runtime_error("no file"); });
    return std::string();
  });
  EXPECT_EQ(thrown.status().message(),
            "/g/agent.so: loading the graph ended with an uncaught exception: no file");
  const auto aborted = Try([]() -> Result<std::string> { std::terminate(); });
  EXPECT_EQ(aborted.status().message(), "/g/agent.so: loading the graph crashed (Aborted)");
}

// So that a debugger stops where the exception was thrown.
TEST(Trial, AbortsAfterTheReportOfAnException) {
  static int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  (void)Try([]() -> Result<std::string> {
    std::signal(SIGABRT, [](int) { (void)!write(ends[1], "a", 1); });
    const auto constructor = [](const std::function<void()>& body) noexcept { body(); };
    constructor([] { throw std::runtime_error("no file"); });
    return std::string();
  });
  close(ends[1]);
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 1);
  close(ends[0]);
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
