#include "state/postgres/cluster/host_link.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/base64.h"
#include "base/ids.h"
#include "runtime/thread.h"
#include "state/pack/fields.h"

namespace agent_graph::state::postgres {
namespace {

// Least time between two transactions of a link: bounds how often it takes the database's lock.
constexpr std::chrono::milliseconds kPace{2};
// After a failure.
constexpr std::chrono::milliseconds kRetry{500};
// How long an idle link waits. The system's keep-alive finds out that the server is gone.
constexpr std::chrono::seconds kWait{30};
// Messages that are sent together. PostgreSQL takes payloads of less than 8000 bytes, and base64
// makes 4 bytes of 3.
constexpr size_t kPayloadBytesMax = 5'900;
constexpr size_t kMessageOverhead = 8;
constexpr size_t kSentAtOnceMax = size_t{256} * 1024;

// A host that is dead, or has no channel, gets nothing.
constexpr char kNotify[] =
    "SELECT pg_notify(address, $2) FROM agent_graph.instance WHERE id = $1 AND NOT dead "
    "AND address <> ''";

// The text of a LISTEN would show the channel to everyone who may see what sessions execute.
std::string ListenStatement(const std::string& instance) {
  return "DO $listen$ BEGIN EXECUTE (SELECT 'LISTEN ' || quote_ident(address) FROM "
         "agent_graph.instance WHERE id = '" +
         instance + "'); END $listen$";
}

struct Payload {
  std::vector<std::string> messages;
};
template <pack::SameAs<Payload> T>
auto Fields(T& s) {
  return std::tie(s.messages);
}

void AddCommand(const std::string& instance, Payload& payload, std::vector<Command>& commands) {
  if (payload.messages.empty()) return;
  commands.push_back(
      {kNotify, {Value::Uuid(instance), Value::Text(EncodeBase64(pack::ToBytes(payload)))}});
  payload.messages.clear();
}

}  // namespace

std::string NewChannelName() {
  return "agent_graph_" + NewHexId();
}

HostLink::HostLink(HostLinkOptions options)
    : options_(std::move(options)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      connection_(options_.connection) {}

HostLink::~HostLink() {
  Stop();
}

Status HostLink::Start() {
  return runtime::StartThread(thread_, "state-link", [this] { Run(); });
}

void HostLink::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  stop_.NotifyAll();
  connection_.Interrupt();
  if (thread_.joinable()) thread_.join();
}

void HostLink::Send(const std::string& instance, std::string message) {
  bool was_empty;
  {
    MutexLock lock(mutex_);
    const size_t bytes = message.size() + kMessageOverhead;
    if (!connected_ || message.size() > kMessageBytesMax ||
        queued_bytes_ + bytes > kQueuedBytesMax) {
      options_.status->link_dropped.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    was_empty = queue_.empty();
    queued_bytes_ += bytes;
    queue_.push_back({instance, std::move(message)});
  }
  if (!was_empty) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);
}

bool HostLink::Rest(std::chrono::milliseconds time) {
  const Deadline end = DeadlineAfter(time);
  MutexLock lock(mutex_);
  while (!stopping_ && stop_.WaitUntil(mutex_, end)) continue;
  return !stopping_;
}

void HostLink::Run() {
  for (;;) {
    const Status exchanged = Exchange();
    {
      MutexLock lock(mutex_);
      connected_ = exchanged.ok();
      // Queued messages are dropped: after an outage they would arrive too late to be useful.
      if (!exchanged.ok()) {
        queue_.clear();
        queued_bytes_ = 0;
      }
    }
    if (!Rest(exchanged.ok() ? std::chrono::milliseconds(0) : kRetry)) return;
  }
}

Status HostLink::Exchange() {
  AG_RETURN_IF_ERROR(connection_.Open());
  AG_RETURN_IF_ERROR(Listen());
  while (MonotonicClock::now() < next_send_) {
    AG_RETURN_IF_ERROR(connection_.AwaitInput(-1, next_send_));
    TakeArrived();
  }
  AG_RETURN_IF_ERROR(SendQueued());
  TakeArrived();
  AG_RETURN_IF_ERROR(connection_.AwaitInput(wake_.get(), DeadlineAfter(kWait)));
  TakeArrived();
  return Status::Ok();
}

Status HostLink::Listen() {
  if (listening_ == connection_.sessions()) return Status::Ok();
  AG_RETURN_IF_ERROR(connection_.Execute({ListenStatement(options_.instance)}).status());
  listening_ = connection_.sessions();
  MutexLock lock(mutex_);
  connected_ = true;
  return Status::Ok();
}

std::vector<HostLink::Queued> HostLink::TakeQueued() {
  uint64_t count;
  [[maybe_unused]] const ssize_t drained = read(wake_.get(), &count, sizeof count);
  MutexLock lock(mutex_);
  size_t bytes = 0;
  const auto end = std::ranges::find_if(queue_, [&](const Queued& queued) {
    bytes += queued.message.size() + kMessageOverhead;
    return bytes > kSentAtOnceMax;
  });
  std::vector<Queued> taken(std::make_move_iterator(queue_.begin()), std::make_move_iterator(end));
  queue_.erase(queue_.begin(), end);
  for (const Queued& queued : taken) queued_bytes_ -= queued.message.size() + kMessageOverhead;
  if (!queue_.empty()) {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);
  }
  return taken;
}

Status HostLink::SendQueued() {
  std::vector<Queued> queued = TakeQueued();
  if (queued.empty()) return Status::Ok();
  next_send_ = DeadlineAfter(kPace);
  const size_t messages = queued.size();
  struct Open {
    Payload payload;
    size_t bytes = 0;
  };
  std::map<std::string, Open> open;  // by instance
  std::vector<Command> commands;
  for (Queued& one : queued) {
    Open& to = open[one.instance];
    const size_t bytes = one.message.size() + kMessageOverhead;
    if (to.bytes + bytes > kPayloadBytesMax) {
      AddCommand(one.instance, to.payload, commands);
      to.bytes = 0;
    }
    to.bytes += bytes;
    to.payload.messages.push_back(std::move(one.message));
  }
  for (auto& [instance, to] : open) AddCommand(instance, to.payload, commands);
  AG_RETURN_IF_ERROR(connection_.ExecuteAll(commands).status());
  options_.status->link_sent.fetch_add(messages, std::memory_order_relaxed);
  return Status::Ok();
}

void HostLink::TakeArrived() {
  std::vector<std::string> messages;
  for (const std::string& text : connection_.TakeNotifications()) {
    const std::optional<std::string> bytes = DecodeBase64(text);
    Payload payload;
    if (!bytes || !pack::FromBytes(*bytes, payload)) continue;
    for (std::string& message : payload.messages) messages.push_back(std::move(message));
  }
  if (messages.empty()) return;
  options_.status->link_received.fetch_add(messages.size(), std::memory_order_relaxed);
  options_.receive(std::move(messages));
}

}  // namespace agent_graph::state::postgres
