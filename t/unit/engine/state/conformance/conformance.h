// The fixture of the suite that every backend must pass. Each test runs over every backend type of
// the factory, directly over its executor and through the gateway.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../fixture.h"
#include "../postgres/postgres_server.h"
#include "direct_host.h"
#include "state/postgres/schema/migration.h"

namespace agent_graph::state {

struct Setup {
  std::string type;  // a name of BackendTypes
  bool through_gateway = false;
};

inline std::vector<Setup> AllSetups() {
  std::vector<Setup> setups;
  for (const std::string& type : BackendTypes()) {
    setups.push_back({type, false});
    setups.push_back({type, true});
  }
  return setups;
}

// The types that keep their data when the process that holds it ends.
inline std::vector<Setup> LastingSetups() {
  std::vector<Setup> setups = AllSetups();
  std::erase_if(setups, [](const Setup& setup) { return setup.type == "memory"; });
  return setups;
}

// A database with tables, on the server that the tests of this process share.
inline std::string NewPostgresDatabase() {
  std::string url = PostgresServer::Shared().CreateDatabase();
  postgres::Connection connection({.url = url});
  const Status migrated = postgres::MigrateSchema(connection);
  EXPECT_TRUE(migrated.ok()) << migrated.ToString();
  return url;
}

inline std::string SetupName(const testing::TestParamInfo<Setup>& instance) {
  return instance.param.type + (instance.param.through_gateway ? "_gateway" : "_direct");
}

class ConformanceTest : public testing::TestWithParam<Setup> {
 protected:
  void SetUp() override {
    options_.type = GetParam().type;
    options_.directory = directory_.path();
    options_.operation_timeout = kPatience;
    options_.indexed_metadata = {"tenant", "topic"};
    if (options_.type == "postgres") options_.database_url = NewPostgresDatabase();
    if (!GetParam().through_gateway) direct_ = std::make_unique<DirectHost>(options_);
    Open();
    client_ = Connect();
  }
  void TearDown() override {
    for (Client* client : clients_) client->Stop();
  }

  // A new client of the state; valid as long as the fixture. With `on_run_granted` it takes
  // accepted runs.
  Client* Connect(std::function<void(GrantedRun)> on_run_granted = {},
                  std::function<void(const RunWatched&)> on_run_watched = {}) {
    std::shared_ptr<Client> client;
    if (direct_ != nullptr) {
      const std::shared_ptr<DirectChannel> channel =
          direct_->NewChannel(std::move(on_run_granted), std::move(on_run_watched));
      client = std::make_shared<Client>(channel, options_.type,
                                        [channel] { channel->DropConnection(); });
    } else {
      StateOptions options = options_;
      options.on_run_granted = std::move(on_run_granted);
      options.on_run_watched = std::move(on_run_watched);
      client = std::make_shared<Client>(options);
    }
    EXPECT_TRUE(client->Start().ok());
    owned_.push_back(client);
    clients_.push_back(client.get());
    return client.get();
  }
  // The client disconnects for good.
  void Leave(Client* client) { client->Stop(); }
  // The process that holds the state ends, and the next one takes over.
  void Restart() {
    if (direct_ != nullptr) direct_->Close();
    server_.reset();
    Open();
  }

  Client& service() { return *client_; }
  ThreadState StateOf(const std::string& thread_id, const Scope& scope = Scope::All()) {
    Result<ThreadState> state = service().GetState(scope, thread_id);
    EXPECT_TRUE(state.ok()) << state.status().ToString();
    return state.ok() ? *state : ThreadState();
  }
  // Waits until these runs wait for the thread "t".
  void AwaitQueue(const std::vector<std::string>& run_ids) {
    const Deadline deadline = DeadlineAfter(kPatience);
    std::vector<std::string> queued;
    while (MonotonicClock::now() < deadline) {
      const std::optional<RunInFlight> in_flight = StateOf("t").in_flight;
      queued = in_flight ? in_flight->queued_runs : std::vector<std::string>();
      if (queued == run_ids) return;
      std::this_thread::yield();
    }
    EXPECT_EQ(queued, run_ids);
  }
  StatusCode StateCode(const std::string& thread_id, const Scope& scope = Scope::All()) {
    return service().GetState(scope, thread_id).status().code();
  }

  Client* client_ = nullptr;

 private:
  void Open() {
    if (direct_ != nullptr) {
      const Status opened = direct_->Open();
      ASSERT_TRUE(opened.ok()) << opened.ToString();
    } else {
      server_ = StartServer(options_.directory, options_.type, StateOptions::kNewest,
                            options_.indexed_metadata, options_.database_url);
    }
  }

  TemporaryDirectory directory_;
  StateOptions options_;
  std::unique_ptr<StateServer> server_;
  std::unique_ptr<DirectHost> direct_;
  std::vector<std::shared_ptr<Client>> owned_;
  std::vector<Client*> clients_;
};

}  // namespace agent_graph::state
