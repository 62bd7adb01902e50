#include "net/http2_host.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <limits>
#include <optional>
#include <utility>

#include "net/tls_contexts.h"

namespace agent_graph::net {
namespace {

constexpr std::chrono::hours kHttp1Known{1};
constexpr size_t kHostsMax = 256;

}  // namespace

Http2Host::Http2Host(boost::asio::io_context& loop, SocketRoute route, std::string ca_file)
    : loop_(loop), route_(std::move(route)), ca_file_(std::move(ca_file)) {}

Http2Host::~Http2Host() {
  LetGo();
}

void Http2Host::LetGo() {
  for (const auto& connection : std::exchange(connections_, {})) connection->LetGo();
  connecting_ = nullptr;
}

void Http2Host::Add(Http2Waiter& waiter) {
  waiting_.push_back(&waiter);
  ServeSoon();
}

void Http2Host::Remove(Http2Waiter& waiter) {
  waiting_.remove(&waiter);
}

void Http2Host::OnRoom(Http2Connection& connection) {
  if (connecting_ == &connection) connecting_ = nullptr;
  if (!waiting_.empty()) ServeSoon();
}

void Http2Host::OnLeaving(Http2Connection& connection, size_t requests) {
  if (connecting_ == &connection) connecting_ = nullptr;
  if (requests > 0) requests_max_ = requests;
  if (!waiting_.empty()) ServeSoon();
}

void Http2Host::OnClosed(Http2Connection& connection, Http2Connection::Failure failure) {
  // The server did not close the connection at the limit, so its real limit is higher, or it has
  // none.
  if (connection.has_used_its_requests() && !connection.left_as_planned() &&
      requests_max_ < std::numeric_limits<size_t>::max() / 2) {
    requests_max_ *= 2;
  }
  std::erase_if(connections_, [&](const auto& one) { return one.get() == &connection; });
  if (connecting_ == &connection) {
    connecting_ = nullptr;
    EndWaiting(failure);
  } else if (!waiting_.empty()) {
    ServeSoon();
  }
}

// Posts the work, because this may be called while a connection is being served.
void Http2Host::ServeSoon() {
  if (std::exchange(*serve_posted_, true)) return;
  boost::asio::post(loop_, [this, posted = std::weak_ptr<bool>(serve_posted_)] {
    const auto alive = posted.lock();
    if (alive == nullptr) return;
    *alive = false;
    Serve();
  });
}

void Http2Host::Serve() {
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    const bool has_room = std::any_of(connections_.begin(), connections_.end(),
                                      [](const auto& one) { return one->room() > 0; });
    if (!has_room) break;
    const std::shared_ptr<Http2Connection> connection = ConnectionFor(**next);
    if (connection == nullptr) {
      ++next;
      continue;
    }
    Http2Waiter& waiter = **next;
    next = waiting_.erase(next);
    waiter.OnConnection(connection);
  }
  if (NeedsConnection()) Connect();
}

std::shared_ptr<Http2Connection> Http2Host::ConnectionFor(const Http2Waiter& waiter) const {
  for (const auto& connection : connections_) {
    if (connection->room() > 0 && connection->serial() > waiter.newer_than()) return connection;
  }
  return nullptr;
}

// A server whose new connection takes no streams is not asked for one more.
bool Http2Host::NeedsConnection() const {
  if (waiting_.empty() || connecting_ != nullptr) return false;
  const Http2Waiter& waiter = *waiting_.front();
  return std::none_of(connections_.begin(), connections_.end(), [&](const auto& connection) {
    return connection->is_open() && connection->streams() == 0 &&
           connection->serial() > waiter.newer_than() && !connection->has_used_its_requests();
  });
}

void Http2Host::Connect() {
  const auto tls = TlsContextFor(ca_file_);
  SocketRoute route = route_;
  route.tls = tls.get();
  const auto connection =
      std::make_shared<Http2Connection>(loop_, std::move(route), tls, *this, ++serials_);
  connection->LimitRequests(requests_max_);
  connections_.push_back(connection);
  connecting_ = connection.get();
  connection->Start(waiting_.front()->connect_timeout());
}

void Http2Host::EndWaiting(Http2Connection::Failure failure) {
  if (failure == Http2Connection::Failure::kHttp1) http1_until_ = DeadlineAfter(kHttp1Known);
  for (Http2Waiter* const waiter : std::exchange(waiting_, {})) {
    failure == Http2Connection::Failure::kTimeout ? waiter->OnConnectTimeout()
                                                  : waiter->OnNoHttp2();
  }
}

boost::asio::execution_context::id Http2Hosts::id;

Http2Hosts::Http2Hosts(boost::asio::io_context& loop) : service(loop), loop_(loop) {}

Http2Hosts& Http2Hosts::Of(boost::asio::io_context& loop) {
  return boost::asio::use_service<Http2Hosts>(loop);
}

void Http2Hosts::shutdown() {
  for (const auto& [name, host] : std::exchange(hosts_, {})) host->LetGo();
}

std::shared_ptr<Http2Host> Http2Hosts::HostFor(const Url& target, const std::string& proxy,
                                               const std::string& ca_file) {
  const std::string name = HostAndPort(target) + " " + proxy + " " + ca_file;
  const auto found = hosts_.find(name);
  if (found != hosts_.end()) return found->second;
  SocketRoute route{.target = target};
  if (!proxy.empty()) {
    route.proxy = ParseUrl(proxy);
    if (!route.proxy || route.proxy->scheme != "http") return nullptr;
  }
  if (hosts_.size() >= kHostsMax) {
    std::erase_if(hosts_, [](const auto& entry) {
      return entry.second.use_count() == 1 && entry.second->is_unused();
    });
  }
  auto host = std::make_shared<Http2Host>(loop_, std::move(route), ca_file);
  hosts_.emplace(name, host);
  return host;
}

}  // namespace agent_graph::net
