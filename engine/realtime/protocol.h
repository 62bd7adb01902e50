// What a provider's realtime API says over its WebSocket, and what is said to it.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/registry.h"
#include "net/websocket_client.h"
#include "realtime/link.h"

namespace agent_graph::realtime {

// One connection's state of the protocol: messages come in, messages and events go out. Knows no
// network.
class Protocol {
 public:
  virtual ~Protocol() = default;

  // The session may start, once the connection is there.
  virtual void Begin(const LinkConfig& config) = 0;
  // The connection is there.
  virtual void OnOpen() = 0;
  // A message of the provider; one that makes no sense is ignored.
  virtual void OnMessage(std::string_view text) = 0;
  // Whether another connection may work after this one ended so.
  virtual bool MayRetry(const net::WebSocketEnd& end) const;

  virtual void SendAudio(std::string_view pcm) = 0;
  virtual void SendText(const std::string& text) = 0;
  virtual bool SendActivity(bool start) = 0;
  virtual void SendToolReplies(const std::vector<ToolReply>& replies) = 0;
  virtual void EndAudio() = 0;
  virtual void Truncate(std::chrono::milliseconds heard) = 0;
  virtual bool Reconfigure(const LinkConfig& config) = 0;

  std::deque<Event>& events() { return events_; }
  std::vector<std::string> TakeMessages() { return std::exchange(messages_, {}); }

 protected:
  void Push(Event event) { events_.push_back(std::move(event)); }
  void Say(std::string message) { messages_.push_back(std::move(message)); }
  // A text has cut the answer off: what of it waits to be taken is of no use any more.
  void CutAnswer();

 private:
  std::deque<Event> events_;
  std::vector<std::string> messages_;
};

// How one provider is reached and spoken with.
struct Dialect {
  // The address and headers for a session with this configuration.
  net::WebSocketOptions (*connect)(const models::ProviderOptions& options,
                                   const LinkConfig& config) = nullptr;
  std::unique_ptr<Protocol> (*make)(const models::ProviderOptions& options,
                                    const LinkConfig& config) = nullptr;
  bool one_link_at_a_time = false;  // as in Provider
  bool resumes = false;             // as in Provider
};

// A provider behind a WebSocket.
class RemoteProvider : public Provider {
 public:
  RemoteProvider(models::ProviderOptions options, Dialect dialect,
                 std::shared_ptr<const net::WebSocketConnector> connector)
      : options_(std::move(options)), dialect_(dialect), connector_(std::move(connector)) {}

  std::unique_ptr<Link> Prepare(const LinkConfig& config, std::function<void()> wake) override;
  bool one_link_at_a_time() const override { return dialect_.one_link_at_a_time; }
  bool resumes() const override { return dialect_.resumes; }

 private:
  const models::ProviderOptions options_;
  const Dialect dialect_;
  const std::shared_ptr<const net::WebSocketConnector> connector_;
};

// "https://host/v1" as "wss://host/v1".
std::string WebSocketUrl(std::string_view base_url);

}  // namespace agent_graph::realtime
