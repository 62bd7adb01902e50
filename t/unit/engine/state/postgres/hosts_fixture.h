// Two hosts that share a database: each has an executor, and clients of its own.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../conformance/direct_host.h"
#include "../fixture.h"
#include "base/clock.h"
#include "host_options.h"
#include "postgres_server.h"
#include "state/postgres/schema/migration.h"

namespace agent_graph::state {

class Host {
 public:
  explicit Host(const std::string& url) {
    host_ = std::make_unique<DirectHost>(OptionsOfHost(directory_.path(), url));
    const Status opened = host_->Open();
    EXPECT_TRUE(opened.ok()) << opened.ToString();
  }
  ~Host() {
    for (const auto& client : clients_) client->Stop();
  }
  void StopClients() {
    for (const auto& client : clients_) client->Stop();
  }
  // The process ends without a word to its clients or to other hosts.
  void Kill() { host_->Close(); }
  void StartAgain() {
    const Status opened = host_->Open();
    EXPECT_TRUE(opened.ok()) << opened.ToString();
  }

  Client& Connect(std::function<void(GrantedRun)> on_run_granted = {}) {
    const auto channel = host_->NewChannel(std::move(on_run_granted));
    clients_.push_back(std::make_unique<Client>(channel, "postgres", [] {}));
    EXPECT_TRUE(clients_.back()->Start().ok());
    return *clients_.back();
  }

 private:
  TemporaryDirectory directory_;
  std::unique_ptr<DirectHost> host_;
  std::vector<std::unique_ptr<Client>> clients_;
};

class HostsTest : public testing::Test {
 protected:
  static std::string NewDatabase() {
    std::string url = PostgresServer::Shared().CreateDatabase();
    postgres::Connection connection({.url = url});
    EXPECT_TRUE(postgres::MigrateSchema(connection).ok());
    return url;
  }
  static AcceptRunRequest Accepted(const std::string& thread_id, const std::string& run_id) {
    AcceptRunRequest accept;
    accept.begin = RunOn(thread_id, "", run_id);
    accept.request = "request of " + run_id;
    accept.continued_until_micros = UnixMicros() + int64_t{3600} * 1'000'000;
    return accept;
  }
  static BeginRunReply Begin(Client& client, const BeginRunRequest& run) {
    Result<BeginRunReply> begun = client.BeginRun(run, nullptr);
    EXPECT_TRUE(begun.ok()) << begun.status().ToString();
    return begun.ok() ? *std::move(begun) : BeginRunReply();
  }

  const std::string url_ = NewDatabase();
  Host a_{url_};
  Host b_{url_};
  Client& on_a_ = a_.Connect();
  Client& on_b_ = b_.Connect();
};

}  // namespace agent_graph::state
