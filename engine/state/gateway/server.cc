#include "state/gateway/server.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/check.h"
#include "runtime/thread.h"

namespace agent_graph::state {
namespace {

constexpr uint64_t kListenerId = 0;
constexpr uint64_t kWakeId = 1;
constexpr int kEventsPerWait = 64;
// Maximum number of reads from one connection before the other connections are served.
constexpr int kReceivesPerEvent = 16;

bool Watch(int epoll, int operation, int fd, uint64_t id, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  return epoll_ctl(epoll, operation, fd, &event) == 0;
}

}  // namespace

Connection::Connection(uint64_t id, FileDescriptor socket, int epoll, int64_t process)
    : id_(id),
      epoll_(epoll),
      process_(process),
      descriptor_(socket.get()),
      socket_(std::move(socket)),
      interest_(EPOLLIN) {}

void Connection::SendAll(std::vector<ClientMessage> messages) {
  for (const ClientMessage& message : messages) {
    std::string frame = wire::MakeMessage(message, protocol_);
    MutexLock lock(mutex_);
    if (socket_) unsent_.Add(std::move(frame));
  }
  MutexLock lock(mutex_);
  SendUnsent();
}

void Connection::SendFrame(std::string frame) {
  MutexLock lock(mutex_);
  if (socket_) unsent_.Add(std::move(frame));
  SendUnsent();
}

void Connection::SendUnsent() {
  if (!socket_) return;
  unsent_.Send(socket_.get());
  if (unsent_.bytes() > kUnsentBytesMax) shutdown(socket_.get(), SHUT_RDWR);
  UpdateInterest();
}

void Connection::UpdateInterest() {
  if (!socket_) return;
  uint32_t interest = 0;
  if (!unsent_.empty()) interest |= EPOLLOUT;
  if (queued_bytes_ <= kQueuedBytesMax && unsent_.bytes() <= kUnsentBytesPause) interest |= EPOLLIN;
  if (interest == interest_) return;
  interest_ = interest;
  Watch(epoll_, EPOLL_CTL_MOD, socket_.get(), id_, interest);
}

void Connection::Enqueued(size_t bytes) {
  MutexLock lock(mutex_);
  queued_bytes_ += bytes;
  UpdateInterest();
}

void Connection::Executed(size_t bytes) {
  MutexLock lock(mutex_);
  AG_CHECK(queued_bytes_ >= bytes, "a request is executed once");
  queued_bytes_ -= bytes;
  UpdateInterest();
}

void Connection::ShutDown() {
  MutexLock lock(mutex_);
  if (socket_) shutdown(socket_.get(), SHUT_RDWR);
}

Server::Server(FileDescriptor listener, ServerEvents& events)
    : listener_(std::move(listener)),
      events_(events),
      buffer_(std::make_unique<char[]>(wire::kReceiveBytes)) {}

Server::~Server() {
  Stop({});
}

Status Server::Start() {
  epoll_ = FileDescriptor(epoll_create1(EPOLL_CLOEXEC));
  wake_ = FileDescriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  spare_ = FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!epoll_ || !wake_ ||
      !Watch(epoll_.get(), EPOLL_CTL_ADD, listener_.get(), kListenerId, EPOLLIN) ||
      !Watch(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), kWakeId, EPOLLIN)) {
    return Status(StatusCode::kUnavailable, "the state server cannot watch its socket");
  }
  return runtime::StartThread(thread_, "state-socket", [this] { Run(); });
}

void Server::ListenOn(FileDescriptor listener) {
  {
    MutexLock lock(mutex_);
    next_listener_ = std::move(listener);
  }
  Wake();
}

void Server::Wake() {
  const uint64_t one = 1;
  [[maybe_unused]] ssize_t written = write(wake_.get(), &one, sizeof one);
}

void Server::Stop(const std::string& farewell) {
  if (!thread_.joinable()) return;
  stopping_ = true;
  Wake();
  thread_.join();
  listener_.Reset();
  for (auto& [id, connection] : connections_) {
    connection->SendFrame(farewell);
    Close(connection);
  }
  connections_.clear();
}

void Server::Run() {
  epoll_event events[kEventsPerWait];
  while (!stopping_) {
    int count = epoll_wait(epoll_.get(), events, kEventsPerWait, -1);
    for (int i = 0; i < count && !stopping_; ++i) {
      if (events[i].data.u64 == kListenerId) {
        AcceptAll();
      } else if (events[i].data.u64 == kWakeId) {
        OnWake();
      } else {
        Handle(events[i].data.u64, events[i].events);
      }
    }
  }
}

void Server::OnWake() {
  uint64_t count;
  [[maybe_unused]] ssize_t drained = read(wake_.get(), &count, sizeof count);
  MutexLock lock(mutex_);
  if (!next_listener_) return;
  listener_ = std::move(next_listener_);  // closing the old listener removes it from the epoll set
  Watch(epoll_.get(), EPOLL_CTL_ADD, listener_.get(), kListenerId, EPOLLIN);
}

void Server::AcceptAll() {
  for (;;) {
    FileDescriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket && (errno == EMFILE || errno == ENFILE)) RefuseOne();
    if (!socket) return;
    const Peer peer = PeerOf(socket.get());
    if (!peer.trusted || connections_.size() >= kConnectionsMax) continue;
    const int fd = socket.get();
    auto connection =
        std::make_shared<Connection>(next_id_++, std::move(socket), epoll_.get(), peer.process);
    connections_.emplace(connection->id(), connection);
    if (!Watch(epoll_.get(), EPOLL_CTL_ADD, fd, connection->id(), EPOLLIN)) {
      connections_.erase(connection->id());
    }
  }
}

void Server::RefuseOne() {
  // A connection that stays in the backlog would wake this thread in a busy loop.
  spare_.Reset();
  FileDescriptor refused(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  refused.Reset();
  spare_ = FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

void Server::Handle(uint64_t id, uint32_t events) {
  auto found = connections_.find(id);
  if (found == connections_.end()) return;
  std::shared_ptr<Connection> connection = found->second;
  if (events & EPOLLOUT) {
    MutexLock lock(connection->mutex_);
    connection->SendUnsent();
  }
  const bool ended = (events & (EPOLLERR | EPOLLHUP)) != 0;
  if (((events & EPOLLIN) || ended) && !Receive(connection)) {
    connections_.erase(id);
    Close(connection);
    events_.OnClosed(connection);
  }
}

bool Server::Receive(const std::shared_ptr<Connection>& connection) {
  for (int i = 0; i < kReceivesPerEvent; ++i) {
    ssize_t received =
        recv(connection->descriptor_, buffer_.get(), wire::kReceiveBytes, MSG_DONTWAIT);
    if (received < 0 && errno == EINTR) continue;
    if (received < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    if (received == 0) return false;
    connection->reader_.Add({buffer_.get(), static_cast<size_t>(received)});
    std::string payload;
    while (connection->reader_.Next(payload)) {
      if (!events_.OnFrame(connection, std::move(payload))) return false;
    }
    if (connection->reader_.broken()) return false;
    if (static_cast<size_t>(received) < wire::kReceiveBytes) return true;
  }
  return true;
}

void Server::Close(const std::shared_ptr<Connection>& connection) {
  MutexLock lock(connection->mutex_);
  connection->socket_.Reset();
  connection->unsent_.Clear();
}

}  // namespace agent_graph::state
