// StreamableClient: unsolicited messages of a server.
#include <utility>

#include "agent_graph/json.h"
#include "base/mutex.h"
#include "tools/mcp/http/streamable_client.h"

namespace agent_graph::tools::mcp {
namespace {

constexpr char kAcknowledged[] = "notifications/subscriptions/acknowledged";

// True if the server's acknowledgement excludes changes of tools. Without a list it excludes
// nothing.
bool Refuses(const json& acknowledgement) {
  const json::json_pointer granted("/params/notifications");
  if (!acknowledgement.contains(granted)) return false;
  const json& notifications = acknowledgement.at(granted);
  return notifications.is_object() && notifications.value("toolsListChanged", json()) != true;
}

// True if the server may ask the user on the session's own stream.
bool MayAsk(const Connection& connection, bool elicitation) {
  return elicitation && connection.facts.era == Era::kSession && !connection.session_id.empty();
}

}  // namespace

bool StreamableClient::announces_changes() const {
  MutexLock lock(mutex_);
  return connection_ != nullptr && connection_->facts.announces_changes;
}

// Servers may ask the user on the stream of a call or on the session's own stream. A question on
// the latter does not name its call. It is cancelled, so that the server does not wait for an
// answer.
bool StreamableClient::wants_listener() const {
  MutexLock lock(mutex_);
  if (connection_ == nullptr || connection_ == silent_) return false;
  return connection_->facts.announces_changes || MayAsk(*connection_, options_.elicitation);
}

StreamPlace StreamableClient::PlaceOf(const ConnectionPtr& connection) const {
  MutexLock lock(mutex_);
  return listened_ == connection ? place_ : StreamPlace();
}

void StreamableClient::KeepPlace(const ConnectionPtr& connection, StreamPlace place) {
  MutexLock lock(mutex_);
  listened_ = connection;
  place_ = std::move(place);
}

void StreamableClient::Silence(const ConnectionPtr& connection) {
  MutexLock lock(mutex_);
  silent_ = connection;
}

Result<Transport::Stream> StreamableClient::OpenListener(const Connection& connection,
                                                         const StreamPlace& place,
                                                         const WaitOptions& wait) {
  if (connection.facts.era == Era::kSession) {
    return transport_->Get(connection, place.last_event_id, wait);
  }
  const Outgoing outgoing{.method = kListen,
                          .params = {{"notifications", {{"toolsListChanged", true}}}}};
  return transport_->Post(&connection, next_id_++, outgoing, wait);
}

Result<std::chrono::milliseconds> StreamableClient::Listen(const WaitOptions& wait) {
  AG_ASSIGN_OR_RETURN(const ConnectionPtr connection, Connect(wait));
  StreamPlace place = PlaceOf(connection);
  Result<Transport::Stream> opened = OpenListener(*connection, place, wait);
  if (!opened.ok()) return opened.status();
  Transport::Stream stream = *std::move(opened);
  if (stream.head.status != 200) {
    if (place.last_event_id.empty()) return RefusedListener(stream, connection);
    // the server may only have forgotten that event, so retry from the start
    KeepPlace(connection, {});
    return kReopenDelayMin;
  }
  if (!IsEventStream(stream.head)) {
    Silence(connection);
    return Status(StatusCode::kNotFound, "the server has no stream of events");
  }
  bool refused = false;
  StreamHandlers handlers;
  handlers.on_message = [&](const json& message, const StreamPlace&) {
    if (message["method"] == kAcknowledged) refused = refused || Refuses(message);
    Receive(message, *connection, wait);
    return true;
  };
  const Result<EventsRead> read = ReadEvents(*stream.call, std::nullopt, handlers, place);
  if (read.status().code() == StatusCode::kCancelled) return read.status();
  if (refused) {
    Silence(connection);
    return Status(StatusCode::kNotFound, "the server does not announce changes");
  }
  // The tools may have changed: the stream was not read to its end, or it cannot be resumed.
  const bool heard = read.ok() && place.failure.ok() && !place.last_event_id.empty();
  if (!heard && connection->facts.announces_changes) options_.on_tools_changed();
  KeepPlace(connection, place);
  return ReopenDelay(place);
}

Status StreamableClient::RefusedListener(Transport::Stream& stream,
                                         const ConnectionPtr& connection) {
  const int status = stream.head.status;
  const bool has_session = !connection->session_id.empty();
  if (status == 405 || (status == 404 && !has_session)) {
    Silence(connection);
    return Status(StatusCode::kNotFound, "the server sends nothing by itself");
  }
  if (has_session && (status == 404 || status == 400)) Forget(connection);
  return transport_->Refusal(*stream.call, status);
}

}  // namespace agent_graph::tools::mcp
