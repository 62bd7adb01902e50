// The store of a host on the test's thread, without an executor: a test chooses which requests
// share a transaction.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../requests.h"
#include "base/clock.h"
#include "state/pack/fields.h"
#include "state/postgres/cluster/membership.h"
#include "state/postgres/rows/row_database.h"
#include "state/store/batch_use.h"
#include "state/store/store.h"

namespace agent_graph::state {

class HostStore {
 public:
  // `takes_runs`: its client executes accepted runs.
  explicit HostStore(const postgres::ConnectionOptions& connection, bool takes_runs = false,
                     const StateOptions& state = {}, std::function<int64_t()> now = UnixMicros)
      : membership_({.database = connection,
                     .identity_file = {},
                     .host = {},
                     .channel = {},
                     .version = "test"}) {
    const Status joined = membership_.Join();
    EXPECT_TRUE(joined.ok()) << joined.ToString();
    postgres::RowDatabaseOptions options;
    options.connection = connection;
    options.identity = {membership_.id(), static_cast<uint64_t>(membership_.incarnation()),
                        membership_.history()};
    options.now = std::move(now);
    database_ = std::make_unique<postgres::RowDatabase>(options);
    store_ = std::make_unique<Store>(*database_, state);
    EXPECT_TRUE(store_->Load().ok());
    client_ = "client of " + membership_.id();
    takes_runs_ = takes_runs;
    Connect();
    Commit();
  }

  // Its client connects, and holds no run.
  void Connect() {
    ClientHello hello;
    hello.client = client_;
    hello.process = getpid();
    hello.takes_runs = takes_runs_;
    store_->Connect(hello, kConnection);
  }

  // Adds a request to the next batch, which the client has sent at this time.
  template <typename Body>
  void Add(Operation operation, const Body& body, int64_t sent_micros = UnixMicros()) {
    Request request;
    request.header = {.sequence = ++sequence_, .operation = operation, .micros = sent_micros};
    request.client = client_;
    request.bytes = pack::ToBytes(body);
    batch_.push_back(std::move(request));
  }
  // Executes the batch as the executor does. Returns its replies, or none if it was not committed.
  std::vector<StoreReply> Execute() {
    BatchUse use;
    for (const Request& request : batch_) AddUse(request, use);
    const std::vector<Request> batch = std::exchange(batch_, {});
    if (store_->CanTry(use) && database_->Assume(use)) {
      if (store_->KnowsLeases(use)) {
        store_->BeginTrial(use, {client_});
        Result<std::vector<StoreReply>> replies = Apply(batch, use);
        store_->EndTrial(replies.ok());
        if (replies.ok()) return *std::move(replies);
      } else {
        database_->Dismiss();
      }
    }
    const Status prepared = database_->Prepare(use);
    EXPECT_TRUE(prepared.ok()) << prepared.ToString();
    Result<std::vector<StoreReply>> replies = Apply(batch, use);
    EXPECT_TRUE(replies.ok()) << replies.status().ToString();
    return replies.ok() ? *std::move(replies) : std::vector<StoreReply>();
  }
  template <typename Body>
  StoreReply Execute(Operation operation, const Body& body) {
    Add(operation, body);
    std::vector<StoreReply> replies = Execute();
    EXPECT_EQ(replies.size(), 1u);
    return replies.empty() ? StoreReply() : std::move(replies.front());
  }
  // A complete run that stores these messages.
  void RunTurn(const std::string& thread_id, std::vector<StoredMessage> messages) {
    const BeginRunRequest run = RunOn(thread_id);
    BeginRunReply begun;
    const ReplyRow reply = Execute(Operation::kBeginRun, run).reply;
    begun.lease_epoch = reply.lease_epoch;
    if (begun.lease_epoch == 0) EXPECT_TRUE(pack::FromBytes(reply.body, begun));  // a new thread
    const StoreReply finished =
        Execute(Operation::kFinishRun, FinishOf(run, begun, std::move(messages)));
    EXPECT_TRUE(finished.status.ok()) << finished.status.ToString();
  }
  // Takes over runs of another host, in a transaction that Commit ends. Returns where the next one
  // goes on.
  std::optional<uint64_t> TakeOver(const std::string& instance, uint64_t first = 0) {
    BatchUse use;
    store_->AddTakenOver(instance, first, use);
    EXPECT_TRUE(database_->Prepare(use).ok());
    store_->SyncLeases(use);
    return store_->TakeOver(instance, first);
  }
  std::vector<StoreReply> Commit() {
    Result<std::vector<StoreReply>> replies = store_->Commit();
    EXPECT_TRUE(replies.ok()) << replies.status().ToString();
    return replies.ok() ? *std::move(replies) : std::vector<StoreReply>();
  }
  // Looks at the lease of a thread, as for a run that waits for another host.
  std::vector<StoreReply> Look(const std::string& thread_id) {
    BatchUse use;
    use.threads.push_back({.thread_id = thread_id});
    EXPECT_TRUE(database_->Prepare(use).ok());
    store_->SyncLeases(use);
    store_->StartHandedOver();
    return Commit();
  }

  Store& store() { return *store_; }
  postgres::RowDatabase& database() { return *database_; }
  const std::string& instance() const { return membership_.id(); }

 private:
  static constexpr uint64_t kConnection = 1;

  Result<std::vector<StoreReply>> Apply(const std::vector<Request>& batch, const BatchUse& use) {
    store_->SyncLeases(use);
    store_->StartHandedOver();
    for (const Request& request : batch) {
      pack::Unpacker body = request.body();
      store_->Apply({client_, kConnection, request.header.sequence}, request.header, body);
    }
    return store_->Commit();
  }

  postgres::Membership membership_;
  std::unique_ptr<postgres::RowDatabase> database_;
  std::unique_ptr<Store> store_;
  std::string client_;
  bool takes_runs_ = false;
  uint64_t sequence_ = 0;
  std::vector<Request> batch_;
};

}  // namespace agent_graph::state
