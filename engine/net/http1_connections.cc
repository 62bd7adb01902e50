#include "net/http1_connections.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace agent_graph::net {
namespace {

constexpr size_t kIdleMax = 256;
// Most servers close an idle connection after a minute or two.
constexpr std::chrono::seconds kIdleTime{110};
constexpr std::chrono::seconds kCheckInterval{1};
constexpr size_t kBufferBytes = 32 * 1024;

}  // namespace

boost::asio::execution_context::id Http1Connections::id;

Http1Connections::Http1Connections(boost::asio::io_context& loop)
    : service(loop), buffer_(kBufferBytes), timer_(loop) {}

Http1Connections& Http1Connections::Of(boost::asio::io_context& loop) {
  return boost::asio::use_service<Http1Connections>(loop);
}

void Http1Connections::shutdown() {
  timer_.cancel();
  idle_.clear();
}

std::shared_ptr<Http1Connection> Http1Connections::Take(const std::string& server) {
  const auto found = idle_.find(server);
  if (found == idle_.end()) return nullptr;
  std::shared_ptr<Http1Connection> taken;
  // Takes the newest first, so that connections that are not needed reach their idle time.
  while (taken == nullptr && !found->second.empty()) {
    taken = std::move(found->second.back().connection);
    found->second.pop_back();
    --count_;
    if (!taken->IsQuiet()) taken = nullptr;
  }
  if (found->second.empty()) idle_.erase(found);
  return taken;
}

void Http1Connections::Keep(const std::string& server,
                            std::shared_ptr<Http1Connection> connection) {
  if (count_ == kIdleMax) DropOldest();
  idle_[server].push_back({std::move(connection), DeadlineAfter(kIdleTime)});
  ++count_;
  StartTimer();
}

void Http1Connections::StartTimer() {
  if (std::exchange(timer_runs_, true)) return;
  timer_.expires_after(kCheckInterval);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    timer_runs_ = false;
    DropUnusable();
    if (count_ > 0) StartTimer();
  });
}

void Http1Connections::DropUnusable() {
  const auto now = MonotonicClock::now();
  for (auto& [server, connections] : idle_) {
    count_ -= std::erase_if(connections, [now](const Idle& idle) {
      return idle.until <= now || !idle.connection->IsQuiet();
    });
  }
  std::erase_if(idle_, [](const auto& entry) { return entry.second.empty(); });
}

void Http1Connections::DropOldest() {
  const auto oldest = std::min_element(
      idle_.begin(), idle_.end(),
      [](const auto& a, const auto& b) { return a.second.front().until < b.second.front().until; });
  oldest->second.pop_front();
  --count_;
  if (oldest->second.empty()) idle_.erase(oldest);
}

}  // namespace agent_graph::net
