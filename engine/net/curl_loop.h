// CurlLoop: drives libcurl's transfers on the event loop of one engine thread.
#pragma once

#include <curl/curl.h>

#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/clock.h"

namespace agent_graph::net {

// Completion callback of one transfer. It runs inside libcurl or right after it: it may wake a
// fiber, but must neither resume one nor add or remove transfers.
class CurlTransfer {
 public:
  virtual ~CurlTransfer() = default;
  virtual void OnDone(CURLcode result) = 0;
};

// For the engine thread only. It is a service of its event loop: created on first use, destroyed
// with the loop.
class CurlLoop : public boost::asio::execution_context::service {
 public:
  static boost::asio::execution_context::id id;

  explicit CurlLoop(boost::asio::io_context& loop);
  ~CurlLoop() override;
  static CurlLoop& Of(boost::asio::io_context& loop);

  // Returns a handle with default options; null if out of memory. Give it back after use.
  CURL* TakeHandle();
  void GiveBack(CURL* handle);

  // Starts a transfer. Ownership stays with the caller; `transfer` must outlive it. False on
  // failure.
  bool Add(CURL* handle, CurlTransfer* transfer);
  // Removes a transfer. Before its end this closes its connection.
  void Remove(CURL* handle);

 private:
  struct Socket;

  static int OnSocket(CURL* handle, curl_socket_t descriptor, int wanted, void* self, void* socket);
  static int OnTimeout(CURLM* multi, long timeout_ms, void* self);

  void shutdown() override;
  void Watch(curl_socket_t descriptor, int wanted);
  void Forget(curl_socket_t descriptor);
  void Arm(const std::shared_ptr<Socket>& socket);
  void Act(curl_socket_t descriptor, int events);
  void SetTimer(long timeout_ms);
  void ArmTimer();

  boost::asio::io_context& loop_;
  boost::asio::steady_timer timer_;
  Deadline timer_at_ = kNoDeadline;    // when the timer expires
  Deadline timeout_at_ = kNoDeadline;  // when libcurl wants to be called
  bool turn_posted_ = false;           // libcurl will be called in the loop's next turn
  CURLM* multi_;
  std::unordered_map<curl_socket_t, std::shared_ptr<Socket>> sockets_;
  std::vector<CURL*> free_handles_;
};

}  // namespace agent_graph::net
