// A spawner in a process of its own, for tests that start programs.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "../net/on_fiber.h"
#include "process/process.h"
#include "process/spawner.h"

namespace agent_graph::process {

inline constexpr std::chrono::seconds kPatience{300};

class SpawnerTest : public testing::OnFiber {
 protected:
  // Forks before the runtime's threads exist.
  void SetUp() override {
    char name[] = "/tmp/spawner-test-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    Result<SpawnerListener> listener = ListenForSpawner(directory_);
    ASSERT_TRUE(listener.ok()) << listener.status().ToString();
    ASSERT_EQ(pipe2(lifeline_, O_CLOEXEC), 0);
    spawner_ = fork();
    ASSERT_GE(spawner_, 0);
    if (spawner_ == 0) KeepSpawner(*listener, lifeline_[0], [] {});
    listener->Close();
    close(lifeline_[0]);
    OnFiber::SetUp();
  }
  void TearDown() override {
    OnFiber::TearDown();
    CutLifeline();
    int status = 0;
    EXPECT_EQ(waitpid(spawner_, &status, 0), spawner_);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    std::filesystem::remove_all(directory_);
  }
  void CutLifeline() {
    if (lifeline_[1] >= 0) close(lifeline_[1]);
    lifeline_[1] = -1;
  }

  static ProcessOptions Shell(std::string script) {
    ProcessOptions options;
    options.arguments = {"sh", "-c", std::move(script)};
    options.environment = {{"PATH", "/usr/bin:/bin"}};
    return options;
  }
  Result<std::unique_ptr<Process>> Start(const ProcessOptions& options) {
    return Launcher(directory_).Start(options, never_, DeadlineAfter(kPatience));
  }

  const runtime::Cancellation never_;
  std::string directory_;
  int lifeline_[2] = {-1, -1};
  pid_t spawner_ = 0;  // the spawner's keeper
};

}  // namespace agent_graph::process
