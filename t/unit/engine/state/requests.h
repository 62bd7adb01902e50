// Requests and a directory for the tests of engine/state.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "base/ids.h"
#include "state/requests.h"
#include "state/service.h"

namespace agent_graph::state {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "state-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Timeout for events that must happen, however loaded the machine is: reading a large state is
// slow.
inline constexpr std::chrono::seconds kPatience{300};

inline StoredMessage MessageOf(const std::string& id, const std::string& role,
                               const std::string& text) {
  return {id, 0,
          R"({"message_id":")" + id + R"(","role":")" + role +
              R"(","content":[{"type":"text","text":")" + text + R"("}]})"};
}
inline StoredMessage UserMessage(const std::string& id, const std::string& text = "hello") {
  return MessageOf(id, "user", text);
}
inline StoredMessage AssistantMessage(const std::string& id, const std::string& text = "hi") {
  return MessageOf(id, "assistant", text);
}

inline std::string Numbered(std::string prefix, int number) {
  prefix += std::to_string(number);
  return prefix;
}

inline std::vector<std::string> Ids(const std::vector<StoredMessage>& messages) {
  std::vector<std::string> ids;
  for (const StoredMessage& message : messages) ids.push_back(message.id);
  return ids;
}

inline BeginRunRequest RunOn(const std::string& thread_id, const std::string& user = "",
                             const std::string& run_id = NewUuid()) {
  BeginRunRequest run;
  run.scope = user.empty() ? Scope::All() : Scope::Owner(user);
  run.thread_id = thread_id;
  run.user_id = user;
  run.run_id = run_id;
  run.graph_name = "graph";
  return run;
}

inline AppendRunRequest AppendOf(const BeginRunRequest& run, const BeginRunReply& begun,
                                 std::vector<StoredMessage> messages = {}) {
  AppendRunRequest append;
  append.thread_id = run.thread_id;
  append.run_id = run.run_id;
  append.lease_epoch = begun.lease_epoch;
  append.messages = std::move(messages);
  append.current_node = "NODE";
  append.step = 1;
  return append;
}

inline FinishRunRequest FinishOf(const BeginRunRequest& run, const BeginRunReply& begun,
                                 std::vector<StoredMessage> messages = {}) {
  FinishRunRequest finish;
  finish.append = AppendOf(run, begun, std::move(messages));
  finish.append.entries.push_back({"run_finished", "{}", 0});
  finish.snapshot.execution_json = R"({"current_node":"END","step":1,"status":"completed"})";
  finish.status = "done";
  return finish;
}

inline Scope ScopeOf(const std::string& user) {
  return user.empty() ? Scope::All() : Scope::Owner(user);
}

inline PutStateRequest PutOn(const std::string& thread_id, const std::string& user) {
  PutStateRequest put;
  put.scope = ScopeOf(user);
  put.thread_id = thread_id;
  put.user_id = user;
  return put;
}

inline AppendMessagesRequest MessagesOn(const std::string& thread_id, const std::string& user,
                                        std::vector<StoredMessage> messages) {
  AppendMessagesRequest append;
  append.scope = ScopeOf(user);
  append.thread_id = thread_id;
  append.user_id = user;
  append.messages = std::move(messages);
  return append;
}

inline PageRequest Page(uint64_t offset, uint64_t limit = 100, const std::string& search = "") {
  PageRequest page;
  page.search = search;
  page.offset = offset;
  page.limit = limit;
  return page;
}

// A complete run that stores these messages.
inline void RunTurn(Service& service, const std::string& thread_id, const std::string& user,
                    std::vector<StoredMessage> messages) {
  BeginRunRequest run = RunOn(thread_id, user);
  Result<BeginRunReply> begun = service.BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok()) << begun.status().ToString();
  Status finished = service.FinishRun(FinishOf(run, *begun, std::move(messages)));
  ASSERT_TRUE(finished.ok()) << finished.ToString();
}

}  // namespace agent_graph::state
