// Runs commands of agent-graph-admin on a state directory with one thread and one memory.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "../program_output.h"
#include "admin/program.h"
#include "base/clock.h"
#include "state/factory/factory.h"
#include "state/requests.h"

namespace agent_graph::admin {

using Ran = ProgramOutput;

inline Ran Admin(const std::vector<std::string>& arguments) {
  const MemoryStream out;
  const MemoryStream err;
  Ran ran;
  ran.code = RunProgram(arguments, {out.file(), err.file()});
  ran.out = out.text();
  ran.err = err.text();
  return ran;
}

class AdminTest : public testing::Test {
 protected:
  AdminTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "admin-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    state_ = directory_ + "/state";
  }
  ~AdminTest() override {
    StopServer();
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  void StartServer() {
    state::StateOptions options;
    options.directory = state_;
    auto server = state::StartStateServer(options);
    ASSERT_TRUE(server.ok()) << server.status().ToString();
    server_ = std::move(server).value();
    ASSERT_TRUE(server_->WaitUntilServing(DeadlineAfter(std::chrono::minutes(2))));
  }
  void StopServer() {
    if (server_ != nullptr) server_->Finish(DeadlineAfter(std::chrono::minutes(2)));
    server_.reset();
  }

  // Needs the server. The memory has no vector.
  void AddThread(const std::string& thread_id) {
    state::StateOptions options;
    options.directory = state_;
    const std::unique_ptr<state::Backend> client = state::MakeBackend(options);
    ASSERT_TRUE(client->Start().ok());
    state::AppendMessagesRequest append;
    append.thread_id = thread_id;
    append.messages = {{"m-" + thread_id, 0, R"({"role":"user","content":[]})"}};
    const Status appended = client->AppendMessages(append);
    EXPECT_TRUE(appended.ok()) << appended.ToString();
    client->Stop();
  }
  // A state with one thread, and no server.
  void MakeState() {
    StartServer();
    AddThread("first");
    StopServer();
  }

  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = directory_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
    return path;
  }

  std::string directory_;  // a temporary folder
  std::string state_;      // the state directory in it
  std::unique_ptr<state::StateServer> server_;
};

}  // namespace agent_graph::admin
