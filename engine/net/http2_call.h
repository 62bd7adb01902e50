// One call over HTTP/2; over HTTP/1.1 if the server offers no HTTP/2.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <string>

#include "net/http2_host.h"
#include "net/http_transfer.h"
#include "net/start_http1.h"

namespace agent_graph::net {

class Http2Call : public HttpCall::Transfer, private Http2Stream, private Http2Waiter {
 public:
  // The parts of the URL if HTTP/2 may be tried for it; nullopt without TLS, with a connection of
  // its own, for uploads, for URLs that libcurl would change, and where HTTP/2 is switched off.
  static std::optional<Url> Serves(const HttpRequest& request);

  Http2Call(boost::asio::io_context& loop, std::shared_ptr<Http2Host> host, Url url,
            HttpRequest request, HttpRoute http1_route, const runtime::Cancellation& cancellation);
  ~Http2Call() override;

  Status Start();
  Status Write(std::string piece) override;
  Result<HttpHead*> ReadHead() override;
  Result<std::string> Read() override;
  int sends() const override;
  void LimitDeadline(Deadline deadline) override;
  void SetIdleTimeout(std::chrono::milliseconds timeout) override;

 private:
  uint64_t newer_than() const override { return newer_than_; }
  std::chrono::milliseconds connect_timeout() const override { return request_.connect_timeout; }
  void OnConnection(const std::shared_ptr<Http2Connection>& connection) override;
  void OnNoHttp2() override;
  void OnConnectTimeout() override;

  size_t GiveBody(char* data, size_t room, bool& end) override;
  void OnHeader(std::string_view name, std::string_view value) override;
  void OnHeadersEnd() override;
  void OnBody(std::string_view piece) override;
  void OnEnd(Http2End end) override;

  HttpHeaders MakeHeaders() const;
  bool MaySendAgain(Http2End end) const;
  void End(Status status);
  void EndTooLarge(size_t bytes_max);
  // Returns the failure of a wait that began at `began`. If the server did not answer, its
  // connection may be dead: see Http2Connection::DoubtSince.
  Status EndedWait(Status status, Deadline began);

  boost::asio::io_context& loop_;
  const std::shared_ptr<Http2Host> host_;
  const Url url_;
  const HttpRoute http1_route_;
  std::unique_ptr<Transfer> http1_;  // does the call instead

  std::shared_ptr<Http2Connection> connection_;  // null: waits for one, or has ended
  int32_t number_ = 0;
  bool is_kept_ = false;  // the connection may have been dead already
  uint64_t newer_than_ = 0;
  int sends_ = 0;
  size_t body_given_ = 0;

  HttpHead head_;
  size_t head_bytes_ = 0;
  bool head_complete_ = false;
  std::string body_;  // received but not read yet; the window of the stream bounds it
  size_t body_bytes_ = 0;
  bool done_ = false;
  Status result_;
};

}  // namespace agent_graph::net
