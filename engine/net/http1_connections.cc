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
    : service(loop), buffer_(kBufferBytes) {}

Http1Connections& Http1Connections::Of(boost::asio::io_context& loop) {
  return boost::asio::use_service<Http1Connections>(loop);
}

void Http1Connections::shutdown() {
  idle_.clear();
}

std::shared_ptr<Http1Connection> Http1Connections::Take(const std::string& server) {
  DropOld();
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
  DropOld();
  if (count_ == kIdleMax) DropOldest();
  idle_[server].push_back({std::move(connection), DeadlineAfter(kIdleTime)});
  ++count_;
}

void Http1Connections::DropOld() {
  const auto now = MonotonicClock::now();
  if (now < next_check_) return;
  next_check_ = now + kCheckInterval;
  for (auto& [server, connections] : idle_) {
    while (!connections.empty() && connections.front().until <= now) {
      connections.pop_front();
      --count_;
    }
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
