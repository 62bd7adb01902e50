// Protocols of the providers' realtime APIs over a WebSocket.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/base_url.h"
#include "models/provider_options.h"
#include "net/websocket_client.h"
#include "realtime/link.h"

namespace agent_graph::realtime {

// The protocol state of one connection: consumes the provider's messages, produces messages and
// events. It does no I/O and is not thread-safe.
class Protocol {
 public:
  virtual ~Protocol() = default;

  // Starts the session as soon as the connection is open.
  virtual void Begin(const LinkConfig& config) = 0;
  // The connection is open.
  virtual void OnOpen() = 0;
  // Handles a message of the provider; an invalid one is ignored.
  virtual void OnMessage(std::string_view text) = 0;
  // True if a new connection may work after this one ended in this way.
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
  void Push(Event event);
  // The whole samples of the answer's audio in `pcm`, the next piece of it. Providers may divide
  // audio anywhere: the first half of a sample is kept for the next piece.
  std::string WholeSamples(std::string pcm);
  // The next piece of audio belongs to another answer. Push does this for the events that end one.
  void EndAnswerAudio() { half_sample_.clear(); }
  void Send(std::string message) { messages_.push_back(std::move(message)); }
  // After a text has cut off the answer: removes its queued events, which are no longer needed.
  void CutAnswer();

 private:
  std::deque<Event> events_;
  std::vector<std::string> messages_;
  std::string half_sample_;  // a byte, or nothing
};

// How to connect to a provider, and which protocol it uses.
struct Dialect {
  // The URL and headers for a session with this configuration.
  net::WebSocketOptions (*connect)(const models::ProviderOptions& options,
                                   const LinkConfig& config) = nullptr;
  std::unique_ptr<Protocol> (*make)(const models::ProviderOptions& options,
                                    const LinkConfig& config) = nullptr;
  bool one_link_at_a_time = false;  // as in Provider
  bool resumes = false;             // as in Provider
};

// A provider behind a WebSocket. Thread-safe.
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

// "https://host/v1" → "wss://host/v1".
models::BaseUrl WebSocketUrl(std::string_view base_url);
// Removes the version at the end of the path of a URL; its host may begin like one.
void RemoveVersion(std::string& url);

}  // namespace agent_graph::realtime
