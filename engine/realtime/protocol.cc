#include "realtime/protocol.h"

#include <algorithm>

#include "base/environment.h"

namespace agent_graph::realtime {
namespace {

// Limit for events that the session has not taken. It takes all events each time it wakes up.
constexpr size_t kWaitingMax = 16 * 1024 * 1024;

class RemoteLink final : public Link, public net::WebSocketHandler {
 public:
  // `secrets` are removed from texts of the provider.
  RemoteLink(std::unique_ptr<Protocol> protocol, std::vector<std::string> secrets,
             std::function<void()> wake)
      : protocol_(std::move(protocol)), secrets_(std::move(secrets)), wake_(std::move(wake)) {}

  void Connect(const net::WebSocketConnector& connector, const net::WebSocketOptions& options) {
    client_ = connector.Open(options, *this);
  }

  // --- Link ---
  void Begin(const LinkConfig& config) override {
    protocol_->Begin(config);
    Flush();
  }
  void Leave() override { client_->Leave(); }
  void SendAudio(std::string_view pcm) override {
    protocol_->SendAudio(pcm);
    Flush();
  }
  void SendText(const std::string& text) override {
    protocol_->SendText(text);
    CountWaiting();  // it may have removed events of a cut-off answer
    Flush();
  }
  bool SendActivity(bool start) override {
    const bool sent = protocol_->SendActivity(start);
    Flush();
    TellOfEvents();
    return sent;
  }
  void SendToolReplies(const std::vector<ToolReply>& replies) override {
    protocol_->SendToolReplies(replies);
    Flush();
  }
  void EndAudio() override {
    protocol_->EndAudio();
    Flush();
    TellOfEvents();
  }
  void Truncate(std::chrono::milliseconds heard) override {
    protocol_->Truncate(heard);
    Flush();
  }
  bool Reconfigure(const LinkConfig& config) override {
    const bool done = protocol_->Reconfigure(config);
    Flush();
    return done;
  }
  size_t unsent_bytes() const override { return client_->unsent_bytes(); }
  std::optional<Event> Next() override {
    std::deque<Event>& events = protocol_->events();
    if (events.empty()) return std::nullopt;
    Event event = std::move(events.front());
    events.pop_front();
    waiting_bytes_ -= std::min(waiting_bytes_, BytesOf(event));
    if (event.kind == Event::Kind::kError || event.kind == Event::Kind::kClosed) {
      BlotOut(secrets_, event.text);
    }
    return event;
  }

  // --- WebSocketHandler ---
  void OnOpen() override {
    connected_ = true;
    protocol_->OnOpen();
    Flush();
    wake_();
  }
  void OnMessage(std::string text) override {
    if (over_) return;
    std::deque<Event>& events = protocol_->events();
    const size_t known = events.size();
    protocol_->OnMessage(text);
    const Deadline now = MonotonicClock::now();
    for (size_t i = known; i < events.size(); ++i) {
      events[i].arrived = now;
      waiting_bytes_ += BytesOf(events[i]);
    }
    if (waiting_bytes_ > kWaitingMax) return GiveUp();
    Flush();
    wake_();
  }
  void OnSent() override { wake_(); }
  void OnEnd(const net::WebSocketEnd& end) override {
    if (std::exchange(over_, true)) return;
    protocol_->events().push_back({.kind = Event::Kind::kClosed,
                                   .text = end.reason,
                                   .code = CodeOf(end),
                                   .retry = protocol_->MayRetry(end),
                                   .connected = connected_});
    wake_();
  }

 private:
  static std::string CodeOf(const net::WebSocketEnd& end) {
    if (end.http_status != 0) return "provider_http_" + std::to_string(end.http_status);
    if (end.close_code != 0) return "provider_close_" + std::to_string(end.close_code);
    return "provider_unreachable";
  }

  static size_t BytesOf(const Event& event) {
    size_t bytes = sizeof(Event) + event.text.size();
    for (const ToolCall& call : event.calls) bytes += call.arguments_json.size();
    return bytes;
  }

  void CountWaiting() {
    waiting_bytes_ = 0;
    for (const Event& event : protocol_->events()) waiting_bytes_ += BytesOf(event);
  }

  void GiveUp() {
    client_->Leave();
    protocol_->events().clear();
    OnEnd({0, 0, "the provider sends more than can be taken"});
  }

  // For events that were caused by a call of ours, not by a message of the provider.
  void TellOfEvents() {
    if (!protocol_->events().empty()) wake_();
  }

  void Flush() {
    for (std::string& message : protocol_->TakeMessages()) client_->Send(std::move(message));
  }

  const std::unique_ptr<Protocol> protocol_;
  const std::vector<std::string> secrets_;
  const std::function<void()> wake_;
  std::unique_ptr<net::WebSocketClient> client_;
  bool connected_ = false;
  bool over_ = false;
  size_t waiting_bytes_ = 0;  // size of the queued events
};

}  // namespace

void Protocol::Push(Event event) {
  using Kind = Event::Kind;
  if (event.kind == Kind::kTurnComplete || event.kind == Kind::kInterrupted) EndAnswerAudio();
  events_.push_back(std::move(event));
}

std::string Protocol::WholeSamples(std::string pcm) {
  if (!half_sample_.empty()) pcm.insert(0, std::exchange(half_sample_, {}));
  if (pcm.size() % 2 != 0) {
    half_sample_ = pcm.back();
    pcm.pop_back();
  }
  return pcm;
}

void Protocol::CutAnswer() {
  EndAnswerAudio();
  std::erase_if(events_, [](const Event& event) {
    return event.kind == Event::Kind::kAudio || event.kind == Event::Kind::kOutputTranscript;
  });
  for (Event& event : events_) {
    if (event.kind == Event::Kind::kTurnComplete) event.answer_due = true;
  }
}

bool Protocol::MayRetry(const net::WebSocketEnd& end) const {
  const int status = end.http_status;
  return status == 0 || status >= 500 || status == 408 || status == 429;
}

std::unique_ptr<Link> RemoteProvider::Prepare(const LinkConfig& config,
                                              std::function<void()> wake) {
  auto link = std::make_unique<RemoteLink>(dialect_.make(options_, config),
                                           models::SecretsOf(options_), std::move(wake));
  net::WebSocketOptions connection = dialect_.connect(options_, config);
  for (const auto& [name, value] : options_.headers) connection.headers.emplace_back(name, value);
  connection.connect_timeout = options_.connect_timeout;
  link->Connect(*connector_, connection);
  return link;
}

models::BaseUrl WebSocketUrl(std::string_view base_url) {
  models::BaseUrl url = models::BaseUrl::Of(base_url);
  if (url.before_query.starts_with("http")) url.before_query.replace(0, 4, "ws");
  return url;
}

void RemoveVersion(std::string& url) {
  const size_t scheme = url.find("://");
  const size_t path = url.find('/', scheme == std::string::npos ? 0 : scheme + 3);
  if (path == std::string::npos) return;
  const size_t version = url.rfind("/v1");
  if (version != std::string::npos && version >= path) url.resize(version);
}

}  // namespace agent_graph::realtime
