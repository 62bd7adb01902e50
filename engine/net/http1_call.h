// Http1Call: an HTTP/1.1 call without a proxy.
//
// Model servers are called like this unless they offer HTTP/2. While a call by libcurl waits, it
// holds about 20 KiB more, with TLS 50 KiB more, and costs more system calls for each piece.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/http1_connection.h"
#include "net/http1_connections.h"
#include "net/http_transfer.h"
#include "net/reply_parser.h"
#include "net/resolve.h"
#include "net/url.h"

namespace agent_graph::net {

class Http1Call : public HttpCall::Transfer, private Http1ConnectionUser {
 public:
  // The parts of the URL if an Http1Call can make this call; nullopt if libcurl has to: for
  // uploads, for URLs that libcurl would change before it uses them, and for https unless the call
  // lasts long. (For the others libcurl can resume TLS sessions.)
  static std::optional<Url> Serves(const HttpRequest& request);

  // `ca_file` has the certificates that are trusted.
  Http1Call(boost::asio::io_context& loop, Url url, HttpRequest request, const std::string& ca_file,
            const runtime::Cancellation& cancellation, Deadline started);
  ~Http1Call() override;

  // Begins to connect or to send, without waiting.
  Status Start();
  Status Write(std::string piece) override;  // nothing to do: it serves no uploads
  Result<HttpHead*> ReadHead() override;
  Result<std::string> Read() override;
  int sends() const override { return sends_; }

 private:
  std::string HeadOfRequest() const;
  void UseConnection(std::shared_ptr<Http1Connection> connection);
  void UseNewConnection(const StreamEndpoint& endpoint);
  Status Connect();
  // Waits until the server is reached at `reach_until`, and the handshake is made at `deadline`.
  Status AwaitConnection(Deadline reach_until, Deadline deadline);

  // The parser needs much stack, which a waiting fiber would keep; so the event loop parses.
  void OnChange() override;
  // Sends and reads what is possible without waiting, but limits the reads of one turn.
  void Proceed();
  void SendSome();
  // True if the connection works and there is room for more of the body.
  bool MayReceive() const;
  Status Receive();
  Status TakeBytes(std::string_view bytes);
  // Keeps the connection if it can be used again; closes it otherwise.
  void LeaveConnection();
  // True if a kept connection was lost before the reply, so that another one may serve.
  bool MaySendAgain() const;

  boost::asio::io_context& loop_;
  Url url_;                   // its path is freed when the head is written
  const std::string server_;  // scheme, host and port, and what a secure connection trusts
  std::shared_ptr<boost::asio::ssl::context> tls_;  // null: without TLS
  std::string head_;  // of the request; freed with its body when they are not needed again
  size_t sent_ = 0;   // bytes of head and body
  bool is_sent_ = false;
  bool stops_sending_ = false;  // the server has refused the request, or reads no more

  std::shared_ptr<Http1Connection> connection_;  // null: none yet, or the reply is complete
  bool is_kept_ = false;                         // the connection has served another call
  bool is_lost_ = false;                         // the server has closed the connection
  std::unique_ptr<ReplyParser> reply_;
  std::string body_;  // received but not read yet
  size_t body_bytes_ = 0;
  Deadline attempt_began_ = MonotonicClock::now();
  const int sends_max_;
  int sends_ = 0;
  Status failure_;  // of the connection or the reply
};

}  // namespace agent_graph::net
