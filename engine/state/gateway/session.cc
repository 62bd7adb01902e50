#include "state/gateway/session.h"

#include <algorithm>
#include <utility>

namespace agent_graph::state {

Session::Session(Executor& executor, SessionEvents events)
    : executor_(executor), events_(std::move(events)) {}

Session::~Session() {
  Stop(Farewell::kNone);
}

Status Session::Start(FileDescriptor listener) {
  ServerEvents& events = *this;
  server_ = std::make_unique<Server>(std::move(listener), events);
  return server_->Start();
}

void Session::Stop(Farewell farewell) {
  if (server_ == nullptr) return;
  server_->Stop(farewell == Farewell::kGoAway ? wire::MakeFrame(wire::FrameType::kGoAway)
                                              : std::string());
}

const std::string* Session::ClientOf(const Connection& connection) const {
  const auto client = client_of_connection_.find(connection.id());
  return client == client_of_connection_.end() ? nullptr : &client->second;
}

bool Session::OnFrame(const std::shared_ptr<Connection>& connection, std::string payload) {
  pack::Unpacker unpacker(payload);
  const wire::FrameType type = wire::ReadFrameType(unpacker);
  switch (type) {
    case wire::FrameType::kHello:
      return OnHello(connection, unpacker);
    case wire::FrameType::kRequest:
      return OnRequest(connection, std::move(payload));
    case wire::FrameType::kBye:
    case wire::FrameType::kRefuseGrants:
    case wire::FrameType::kPong: {
      const std::string* client = ClientOf(*connection);
      if (client == nullptr) return false;
      if (type == wire::FrameType::kBye) {
        executor_.Leave(connection, *client);
      } else if (type == wire::FrameType::kRefuseGrants) {
        executor_.RefuseGrants(connection, *client);
      } else {
        executor_.OnPong(connection, *client);
      }
      return true;
    }
    case wire::FrameType::kStepDown: {
      wire::StepDown step_down;
      if (!pack::TryUnpack(unpacker, step_down)) return false;
      events_.on_step_down(step_down.generation);
      return true;
    }
    default:
      return unpacker.ok();
  }
}

bool Session::OnHello(const std::shared_ptr<Connection>& connection, pack::Unpacker& unpacker) {
  wire::Hello hello;
  if (!pack::TryUnpack(unpacker, hello) || hello.magic != wire::kMagic ||
      client_of_connection_.contains(connection->id())) {
    return false;
  }
  if (hello.protocol_max < wire::kProtocolMin || hello.protocol_min > wire::kProtocolMax) {
    connection->SendFrame(wire::MakeFrame(
        wire::FrameType::kRefused,
        wire::Refused{StatusCode::kUnavailable,
                      "the state server speaks another protocol version; restart nginx"}));
    return true;
  }
  connection->set_protocol(std::min(hello.protocol_max, wire::kProtocolMax));
  if (auto old = connection_of_client_.find(hello.client); old != connection_of_client_.end()) {
    std::shared_ptr<Connection> previous = old->second;
    previous->ShutDown();
    OnClosed(previous);
  }
  client_of_connection_.emplace(connection->id(), hello.client);
  connection_of_client_.insert_or_assign(hello.client, connection);
  events_.on_clients_changed(connection_of_client_.size());
  // The kernel knows the process of a local client; its own claim is not needed.
  const int64_t process = connection->process() != 0 ? connection->process() : hello.process;
  ClientHello client{.client = std::move(hello.client),
                     .process = process,
                     .process_start = hello.process_start,
                     .answers_pings = hello.answers_pings,
                     .takes_runs = hello.takes_runs};
  if (hello.held) {
    client.held = *std::move(hello.held);
  } else {
    client.run_ids = std::move(hello.runs);
  }
  executor_.Connect(connection, std::move(client));
  return true;
}

bool Session::OnRequest(const std::shared_ptr<Connection>& connection, std::string payload) {
  const std::string* client = ClientOf(*connection);
  if (client == nullptr) return false;
  pack::Unpacker unpacker(payload);
  wire::ReadFrameType(unpacker);
  const RequestHeader header = wire::ReadRequestHeader(unpacker);
  if (!unpacker.ok()) return false;
  connection->Enqueued(payload.size());
  const size_t body_start = payload.size() - unpacker.remaining();
  executor_.Execute({connection, *client, header, std::move(payload), body_start});
  return true;
}

void Session::OnClosed(const std::shared_ptr<Connection>& connection) {
  auto client = client_of_connection_.find(connection->id());
  if (client == client_of_connection_.end()) return;
  executor_.Disconnect(connection, client->second);
  connection_of_client_.erase(client->second);
  client_of_connection_.erase(client);
  events_.on_clients_changed(connection_of_client_.size());
}

}  // namespace agent_graph::state
