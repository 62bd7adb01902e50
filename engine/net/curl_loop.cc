#include "net/curl_loop.h"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <exception>
#include <utility>

namespace agent_graph::net {
namespace {

constexpr size_t kFreeHandlesMax = 256;
constexpr long kIdleConnectionsMax = 256;

using Descriptor = boost::asio::posix::stream_descriptor;

}  // namespace

// libcurl owns the socket, opens it and closes it; this code only watches it.
struct CurlLoop::Socket {
  Socket(boost::asio::io_context& loop, curl_socket_t socket) : descriptor(loop), number(socket) {}
  ~Socket() { Release(); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  void Release() {
    forgotten = true;
    if (descriptor.is_open()) descriptor.release();
  }

  Descriptor descriptor;
  const curl_socket_t number;
  int wanted = CURL_POLL_NONE;
  bool reading = false;  // a wait is in progress
  bool writing = false;
  bool forgotten = false;
};

boost::asio::execution_context::id CurlLoop::id;

CurlLoop::CurlLoop(boost::asio::io_context& loop)
    : service(loop), loop_(loop), timer_(loop), multi_(curl_multi_init()) {
  if (multi_ == nullptr) return;
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &OnSocket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &OnTimeout);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kIdleConnectionsMax);
}

CurlLoop::~CurlLoop() = default;

CurlLoop& CurlLoop::Of(boost::asio::io_context& loop) {
  return boost::asio::use_service<CurlLoop>(loop);
}

void CurlLoop::shutdown() {
  for (CURL* handle : std::exchange(free_handles_, {})) curl_easy_cleanup(handle);
  if (multi_ != nullptr) curl_multi_cleanup(std::exchange(multi_, nullptr));
  sockets_.clear();
}

CURL* CurlLoop::TakeHandle() {
  if (free_handles_.empty()) return curl_easy_init();
  CURL* const handle = free_handles_.back();
  free_handles_.pop_back();
  return handle;
}

void CurlLoop::GiveBack(CURL* handle) {
  if (free_handles_.size() >= kFreeHandlesMax) {
    curl_easy_cleanup(handle);
    return;
  }
  curl_easy_reset(handle);
  free_handles_.push_back(handle);
}

bool CurlLoop::Add(CURL* handle, CurlTransfer* transfer) {
  curl_easy_setopt(handle, CURLOPT_PRIVATE, transfer);
  return multi_ != nullptr && curl_multi_add_handle(multi_, handle) == CURLM_OK;
}

void CurlLoop::Remove(CURL* handle) {
  if (multi_ != nullptr) curl_multi_remove_handle(multi_, handle);
}

int CurlLoop::OnSocket(CURL*, curl_socket_t descriptor, int wanted, void* self, void*) {
  auto& loop = *static_cast<CurlLoop*>(self);
  try {
    if (wanted == CURL_POLL_REMOVE) {
      loop.Forget(descriptor);
    } else {
      loop.Watch(descriptor, wanted);
    }
    return 0;
  } catch (const std::exception&) {
    return -1;  // out of memory or epoll is full: the transfer fails
  }
}

int CurlLoop::OnTimeout(CURLM*, long timeout_ms, void* self) {
  try {
    static_cast<CurlLoop*>(self)->SetTimer(timeout_ms);
    return 0;
  } catch (const std::exception&) {
    return -1;
  }
}

void CurlLoop::Watch(curl_socket_t descriptor, int wanted) {
  std::shared_ptr<Socket>& socket = sockets_[descriptor];
  if (socket == nullptr) {
    auto watched = std::make_shared<Socket>(loop_, descriptor);
    watched->descriptor.assign(descriptor);
    socket = std::move(watched);
  }
  socket->wanted = wanted;
  Arm(socket);
}

void CurlLoop::Forget(curl_socket_t descriptor) {
  const auto found = sockets_.find(descriptor);
  if (found == sockets_.end()) return;
  if (found->second != nullptr) found->second->Release();
  sockets_.erase(found);
}

// Waits are one-shot: each is started again after libcurl has handled the event, if libcurl still
// wants it.
void CurlLoop::Arm(const std::shared_ptr<Socket>& socket) {
  const auto wait = [this, &socket](bool Socket::* waiting, int wanted, Descriptor::wait_type type,
                                    int event) {
    if ((socket->wanted & wanted) == 0 || (*socket).*waiting) return;
    (*socket).*waiting = true;
    socket->descriptor.async_wait(
        type, [this, socket, waiting, wanted, event](const boost::system::error_code& error) {
          (*socket).*waiting = false;
          if (socket->forgotten || (socket->wanted & wanted) == 0) return;
          Act(socket->number, error ? CURL_CSELECT_ERR : event);
          if (!socket->forgotten) Arm(socket);
        });
  };
  wait(&Socket::reading, CURL_POLL_IN, Descriptor::wait_read, CURL_CSELECT_IN);
  wait(&Socket::writing, CURL_POLL_OUT, Descriptor::wait_write, CURL_CSELECT_OUT);
}

void CurlLoop::SetTimer(long timeout_ms) {
  // Happens whenever a call is added. A timer would cost two system calls before the first byte is
  // sent.
  if (timeout_ms == 0) {
    timeout_at_ = kNoDeadline;
    if (std::exchange(turn_posted_, true)) return;
    boost::asio::post(loop_, [this] {
      turn_posted_ = false;
      Act(CURL_SOCKET_TIMEOUT, 0);
    });
    return;
  }
  timeout_at_ = timeout_ms < 0 ? kNoDeadline : DeadlineAfter(std::chrono::milliseconds(timeout_ms));
  ArmTimer();
}

// libcurl changes its timeout with almost every piece that it receives. A timer that expires early
// enough is not moved: an expiry that finds nothing due is cheap.
void CurlLoop::ArmTimer() {
  if (timeout_at_ >= timer_at_) return;
  timer_at_ = timeout_at_;
  timer_.expires_at(timer_at_);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    timer_at_ = kNoDeadline;
    if (timeout_at_ <= MonotonicClock::now()) {
      timeout_at_ = kNoDeadline;
      Act(CURL_SOCKET_TIMEOUT, 0);
    }
    ArmTimer();
  });
}

void CurlLoop::Act(curl_socket_t descriptor, int events) {
  int running = 0;
  curl_multi_socket_action(multi_, descriptor, events, &running);
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    void* transfer = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    static_cast<CurlTransfer*>(transfer)->OnDone(message->data.result);
  }
}

}  // namespace agent_graph::net
