// A state server and clients for the tests of engine/state.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "requests.h"
#include "state/calls/caller.h"
#include "state/factory/factory.h"
#include "state/gateway/client/link.h"

namespace agent_graph::state {

inline std::unique_ptr<StateServer> StartServer(const std::string& directory,
                                                const std::string& type = "leveldb",
                                                uint64_t generation = StateOptions::kNewest,
                                                std::vector<std::string> indexed_metadata = {},
                                                const std::string& database_url = {}) {
  StateOptions options;
  options.database_url = database_url;
  options.indexed_metadata = std::move(indexed_metadata);
  options.log_kept = std::chrono::seconds(0);
  options.directory = directory;
  options.type = type;
  options.generation = generation;
  Result<std::unique_ptr<StateServer>> server = StartStateServer(options);
  EXPECT_TRUE(server.ok()) << server.status().ToString();
  return server.ok() ? std::move(*server) : nullptr;
}

// A backend whose connection a test can break.
class Client : public Caller {
 public:
  Client(std::shared_ptr<Channel> channel, std::string type, std::function<void()> drop)
      : Caller(std::move(channel), std::move(type)), drop_(std::move(drop)) {}

  // A worker's backend, which connects to the state server.
  explicit Client(const StateOptions& options)
      : Client(std::make_shared<Link>(options), options.type) {}

  void DropConnection() { drop_(); }

 private:
  Client(const std::shared_ptr<Link>& link, std::string type)
      : Client(link, std::move(type), [link] { link->DropConnection(); }) {}

  const std::function<void()> drop_;
};

inline std::unique_ptr<Client> StartClient(const std::string& directory) {
  StateOptions options;
  options.directory = directory;
  options.operation_timeout = kPatience;
  auto client = std::make_unique<Client>(options);
  EXPECT_TRUE(client->Start().ok());
  return client;
}

}  // namespace agent_graph::state
