#include "net/socket_opener.h"

#include <openssl/evp.h>
#include <unistd.h>

#include <boost/beast/core/error.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <cstring>
#include <string>
#include <utility>

#include "base/percent_encoding.h"
#include "net/open_socket.h"
#include "runtime/runtime.h"

namespace agent_graph::net {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

namespace {

std::string BasicAuthorization(const std::string& user_and_password) {
  std::string text(4 * ((user_and_password.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                   reinterpret_cast<const unsigned char*>(user_and_password.data()),
                                   static_cast<int>(user_and_password.size()));
  text.resize(static_cast<size_t>(size));
  return "Basic " + text;
}

}  // namespace

SocketOpener::SocketOpener(asio::io_context& loop, SocketStream& stream, SocketRoute route)
    : route_(std::move(route)), stream_(stream), give_up_(loop) {}

void SocketOpener::Start(std::shared_ptr<void> owner, std::chrono::milliseconds timeout,
                         Done done) {
  owner_ = std::move(owner);
  done_ = std::move(done);
  // One timer for all steps.
  give_up_.expires_after(timeout);
  give_up_.async_wait([this, alive = std::weak_ptr<void>(owner_)](error_code error) {
    const auto kept = alive.lock();
    if (!error && kept) End("", beast::error::timeout);
  });
  runtime::Runtime::Current()->Spawn([this, kept = owner_] { LookUp(); }, /*here=*/true);
}

void SocketOpener::LookUp() {
  const Url& first = route_.proxy ? *route_.proxy : route_.target;
  Result<std::vector<StreamEndpoint>> found = route_.addresses;
  if (found->empty()) found = Resolve(first.host, first.port, &ended_, kNoDeadline);
  if (found.status().code() == StatusCode::kNotFound) {
    return End("no address: ", asio::error::host_not_found);
  }
  if (!found.ok()) return End("no address: ", asio::error::host_not_found_try_again);
  addresses_.assign(found->begin(), found->end());
  ConnectToNext(asio::error::host_not_found);
}

void SocketOpener::Cancel() {
  done_ = nullptr;
  End("", asio::error::operation_aborted);
}

void SocketOpener::ConnectToNext(error_code last) {
  if (owner_ == nullptr) return;
  if (addresses_.empty()) return End("no connection: ", last);
  asio::ip::tcp::endpoint address;
  address.resize(addresses_.front().size());
  std::memcpy(address.data(), addresses_.front().data(), address.size());
  addresses_.pop_front();
  asio::ip::tcp::socket& socket = stream_.next_layer().socket();
  error_code error;
  socket.close(error);
  error = {};
  const int descriptor = OpenTcpSocket(address.protocol().family(), error);
  if (error) return ConnectToNext(error);
  socket.assign(address.protocol(), descriptor, error);
  if (error) {
    ::close(descriptor);
    return ConnectToNext(error);
  }
  if (!addresses_.empty()) stream_.next_layer().expires_after(kAddressTime);
  stream_.next_layer().async_connect(address, [this, kept = owner_](error_code result) {
    stream_.next_layer().expires_never();
    if (result) return ConnectToNext(result);
    if (owner_ == nullptr) return;
    route_.proxy ? AskProxy() : Secure();
  });
}

// RFC 9110, 9.3.6: after a 2xx the connection leads to the target.
void SocketOpener::AskProxy() {
  const std::string authority = HostAndPort(route_.target);
  connect_ = http::request<http::empty_body>(http::verb::connect, authority, 11);
  connect_.set(http::field::host, authority);
  if (std::string user; PercentDecode(route_.proxy->userinfo, user) && !user.empty()) {
    connect_.set(http::field::proxy_authorization, BasicAuthorization(user));
  }
  http::async_write(stream_.next_layer(), connect_,
                    [this, kept = owner_](error_code error, std::size_t) {
                      error ? End("the proxy: ", error) : ReadProxyAnswer();
                    });
}

void SocketOpener::ReadProxyAnswer() {
  if (owner_ == nullptr) return;
  proxy_answer_.skip(true);  // a 2xx has no body, whatever its headers say
  http::async_read_header(stream_.next_layer(), buffer_, proxy_answer_,
                          [this, kept = owner_](error_code error, std::size_t) {
                            if (error) return End("the proxy: ", error);
                            const auto status = static_cast<int>(proxy_answer_.get().result_int());
                            if (status / 100 != 2) {
                              refused_by_proxy_ = status;
                              return End("the proxy: ", http::error::bad_status);
                            }
                            // The target sends nothing before our first bytes.
                            buffer_.consume(buffer_.size());
                            Secure();
                          });
}

void SocketOpener::Secure() {
  if (owner_ == nullptr) return;
  if (route_.tls == nullptr) return End("", {});
  stream_.StartTls(*route_.tls, route_.target.host,
                   SocketStream::Done::Of([this, kept = owner_](error_code error) {
                     End("no secure connection: ", error);
                   }));
}

void SocketOpener::End(const char* what, error_code error) {
  const std::shared_ptr<void> owner = std::exchange(owner_, nullptr);
  if (owner == nullptr) return;
  give_up_.cancel();
  ended_.Cancel(runtime::CancelReason::kStopped);
  if (error) stream_.next_layer().close();
  if (const Done done = std::exchange(done_, nullptr)) done(what, error);
}

}  // namespace agent_graph::net
