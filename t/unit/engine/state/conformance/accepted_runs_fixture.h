// Accepts runs, and executes them as the worker to which they are granted.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "conformance.h"
#include "grants.h"
#include "state/runs.h"
#include "state/service.h"

namespace agent_graph::state {

class AcceptedRunsTest : public ConformanceTest {
 protected:
  static AcceptRunRequest RequestOn(const std::string& thread_id, const std::string& run_id,
                                    const std::string& user = "") {
    AcceptRunRequest accept;
    accept.begin = RunOn(thread_id, user, run_id);
    accept.request = "request of " + run_id;
    accept.continued_until_micros = UnixMicros() + int64_t{3600} * 1'000'000;
    return accept;
  }
  RunRecord Accept(const AcceptRunRequest& accept) {
    Result<AcceptRunReply> reply = service().AcceptRun(accept);
    EXPECT_TRUE(reply.ok()) << reply.status().ToString();
    if (!reply.ok()) return {};
    EXPECT_EQ(reply->outcome, AcceptRunReply::Outcome::kAccepted);
    return reply->run;
  }
  static BeginRunRequest BeginOf(const GrantedRun& granted) {
    BeginRunRequest begin = RunOn(granted.thread_id, "", granted.run_id);
    begin.granted = true;
    return begin;
  }
  BeginRunReply Begin(Client& worker, const GrantedRun& granted) {
    Result<BeginRunReply> begun = worker.BeginRun(BeginOf(granted), nullptr);
    EXPECT_TRUE(begun.ok()) << begun.status().ToString();
    return begun.ok() ? *begun : BeginRunReply();
  }
  static AppendRunRequest Append(const GrantedRun& run, const BeginRunReply& begun,
                                 std::vector<LogEntry> entries) {
    AppendRunRequest append = AppendOf(RunOn(run.thread_id, "", run.run_id), begun);
    append.entries = std::move(entries);
    append.current_node = "work";
    append.step = 3;
    return append;
  }
  void Finish(Client& worker, const GrantedRun& run, const BeginRunReply& begun) {
    FinishRunRequest finish;
    finish.append = Append(run, begun, {{"run_finished", "{}", 0}});
    finish.status = "done";
    finish.usage_json = R"({"model_calls":1})";
    const Status status = worker.FinishRun(finish);
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  RunRecord Run(const std::string& thread_id, const std::string& run_id,
                const Scope& scope = Scope::All()) {
    Result<RunRecord> run = service().GetRun({scope, thread_id, run_id});
    EXPECT_TRUE(run.ok()) << run.status().ToString();
    return run.ok() ? *run : RunRecord();
  }
  Result<FollowRunReply> Follow(const std::string& thread_id, const std::string& run_id,
                                uint64_t first = 0, int64_t wait_ms = 0) {
    FollowRunRequest follow;
    follow.thread_id = thread_id;
    follow.run_id = run_id;
    follow.first = first;
    follow.wait_ms = wait_ms;
    return service().FollowRun(follow, nullptr);
  }
  // Returns all entries of the run, when it has ended.
  FollowRunReply AwaitEnd(const std::string& thread_id, const std::string& run_id) {
    constexpr uint64_t kNoEntry = uint64_t{1} << 62;
    for (;;) {
      const Result<FollowRunReply> ended = Follow(thread_id, run_id, kNoEntry, kFollowWaitMsMax);
      EXPECT_TRUE(ended.ok()) << ended.status().ToString();
      if (!ended.ok()) return {};
      if (!HasEnded(ended->run.state)) continue;
      const Result<FollowRunReply> all = Follow(thread_id, run_id, ended->run.log_begin);
      EXPECT_TRUE(all.ok()) << all.status().ToString();
      return all.ok() ? *all : FollowRunReply();
    }
  }
  static std::vector<std::string> Kinds(const FollowRunReply& reply) {
    std::vector<std::string> kinds;
    for (const IndexedEntry& entry : reply.entries) kinds.push_back(entry.entry.kind);
    return kinds;
  }
};

}  // namespace agent_graph::state
