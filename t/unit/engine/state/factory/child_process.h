// A separate process for the tests of engine/state, which can be killed.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <string>

namespace agent_graph::state {

// The directory in which a child process of these tests works.
inline constexpr char kDirectoryVariable[] = "AGENT_GRAPH_STATE_TEST_DIRECTORY";

// Runs this program again with one of the disabled tests, until it is killed.
class ChildProcess {
 public:
  ChildProcess(const std::string& test, const std::string& directory) {
    std::string filter = "--gtest_filter=" + test;
    std::string variable = std::string(kDirectoryVariable) + "=" + directory;
    char program[] = "/proc/self/exe";
    char disabled[] = "--gtest_also_run_disabled_tests";
    char brief[] = "--gtest_brief=1";
    char* arguments[] = {program, filter.data(), disabled, brief, nullptr};
    char* environment[] = {variable.data(), nullptr};
    EXPECT_EQ(posix_spawn(&process_, program, nullptr, nullptr, arguments, environment), 0);
  }
  ~ChildProcess() { Kill(); }
  // Stops the process as a debugger would: it does not answer and releases nothing.
  void Freeze() {
    kill(process_, SIGSTOP);
    // kill() returns before the signal takes effect: a thread on another core may still answer.
    waitpid(process_, nullptr, WUNTRACED);
  }
  void Thaw() { kill(process_, SIGCONT); }
  void Kill() {
    if (process_ == 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = 0;
  }

 private:
  pid_t process_ = 0;
};

inline std::string ChildDirectory() {
  const char* directory = getenv(kDirectoryVariable);
  return directory == nullptr ? "" : directory;
}

}  // namespace agent_graph::state
