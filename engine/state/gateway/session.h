// One serving period of the state server: passes the clients' frames to the executor.
//
// All functions of ServerEvents run on the server's socket thread, which only dispatches requests.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/file_descriptor.h"
#include "base/status.h"
#include "state/calls/executor.h"
#include "state/gateway/server.h"

namespace agent_graph::state {

// Callbacks of Session. They run on the socket thread and must not block.
struct SessionEvents {
  std::function<void(uint64_t generation)> on_step_down;
  std::function<void(size_t clients)> on_clients_changed;
};

// Owned by Role, which calls Start, ListenOn and Stop from its thread.
class Session : private ServerEvents {
 public:
  // `executor` must be started and outlive the session.
  Session(Executor& executor, SessionEvents events);
  ~Session() override;

  Status Start(FileDescriptor listener);
  // Call after Start. Switches to another listening socket.
  void ListenOn(FileDescriptor listener) { server_->ListenOn(std::move(listener)); }
  enum class Farewell { kNone, kGoAway };
  // Closes all connections. Clients resend what was not answered.
  void Stop(Farewell farewell);

 private:
  bool OnFrame(const std::shared_ptr<Connection>& connection, std::string payload) override;
  void OnClosed(const std::shared_ptr<Connection>& connection) override;
  bool OnHello(const std::shared_ptr<Connection>& connection, pack::Unpacker& unpacker);
  bool OnRequest(const std::shared_ptr<Connection>& connection, std::string payload);
  // Null if the connection has not sent Hello.
  const std::string* ClientOf(const Connection& connection) const;

  Executor& executor_;
  const SessionEvents events_;
  std::unordered_map<uint64_t, std::string> client_of_connection_;
  std::unordered_map<std::string, std::shared_ptr<Connection>> connection_of_client_;
  std::unique_ptr<Server> server_;
};

}  // namespace agent_graph::state
