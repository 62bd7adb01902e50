// A store in memory, without a server.
#pragma once

#include <gtest/gtest.h>

#include "../requests.h"
#include "state/requests.h"
#include "state/store/memory_rows.h"
#include "state/thread/thread_read.h"
#include "store_in_memory.h"

namespace agent_graph::state {

inline constexpr char kPaused[] = R"({"status":"interrupted_before","resume_node":"TOOLS"})";

class StoreTest : public StoreInMemory {
 protected:
  void SetUp() override {
    StoreInMemory::SetUp();
    Connect();
  }
  // Opens the store like a state server that takes over.
  void Open() {
    Load();
    Connect();
  }
  void Connect() {
    ClientHello hello;
    hello.client = "client";
    hello.process = getpid();
    hello.run_ids = {"run"};
    store_->Connect(hello, 1);
  }

  template <typename Body>
  void Apply(uint64_t sequence, Operation operation, const Body& body) {
    const std::string bytes = pack::ToBytes(body);
    pack::Unpacker unpacker(bytes);
    store_->Apply({"client", 1, sequence}, {sequence, 0, operation, now_micros_}, unpacker);
  }
  // Sweeps as the write thread does. Returns the number of portions.
  int SweepAll() {
    int portions = 0;
    for (; store_->wants_sweep(); ++portions) {
      EXPECT_LT(portions, 100);
      if (portions == 100) break;
      store_->Sweep();
      Commit();
    }
    return portions;
  }

  bool HasThread(const std::string& thread_id) {
    return ReadThread(DatabaseSnapshot(*database_), Scope::All(), thread_id).ok();
  }
  // Executes the next timed work as if its time had come.
  void TickNext() {
    store_->Tick(store_->next_tick());
    Commit();
  }

  // A run leaves the thread paused before TOOLS.
  void Pause() {
    const BeginRunRequest run = RunOn("t", "", "pausing");
    Apply(1, Operation::kBeginRun, run);
    BeginRunReply begun;
    begun.lease_epoch = 1;
    FinishRunRequest finish = FinishOf(run, begun);
    finish.snapshot.execution_json = kPaused;
    Apply(2, Operation::kFinishRun, finish);
    for (const StoreReply& reply : Commit()) EXPECT_TRUE(reply.status.ok());
  }
  // A run that continues from there; with `intent`, it has logged that it executes a tool.
  void Resume(bool intent) {
    const BeginRunRequest run = RunOn("t", "", "run");
    Apply(3, Operation::kBeginRun, run);
    if (intent) {
      BeginRunReply begun;
      begun.lease_epoch = 2;
      AppendRunRequest append = AppendOf(run, begun);
      append.entries = {{"tool_intent", R"({"call_id":"call"})", 0}};
      Apply(4, Operation::kAppendRun, append);
    }
    for (const StoreReply& reply : Commit()) EXPECT_TRUE(reply.status.ok());
  }
  std::string Execution() {
    const DatabaseSnapshot snapshot(*database_);
    Result<ThreadRow> thread = ReadThread(snapshot, Scope::All(), "t");
    Result<ThreadState> state =
        thread.ok() ? ReadState(snapshot, "t", *thread) : Result<ThreadState>(thread.status());
    EXPECT_TRUE(state.ok() && !state->in_flight);
    return state.ok() ? state->snapshot.execution_json : "unread";
  }
  std::vector<std::string> LogKinds() {
    const DatabaseSnapshot snapshot(*database_);
    Result<ThreadRow> thread = ReadThread(snapshot, Scope::All(), "t");
    EXPECT_TRUE(thread.ok());
    std::vector<std::string> kinds;
    if (!thread.ok()) return kinds;
    Result<std::vector<LogEntry>> log = ReadLogEntries(snapshot, thread->key(), 0, 100);
    EXPECT_TRUE(log.ok());
    if (log.ok()) {
      for (const LogEntry& entry : *log) kinds.push_back(entry.kind);
    }
    return kinds;
  }

  int64_t now_micros_ = 1'000'000;  // time of applied operations: long ago
};

}  // namespace agent_graph::state
