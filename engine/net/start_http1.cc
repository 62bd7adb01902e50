#include "net/start_http1.h"

#include <optional>
#include <utility>

#include "net/http1_call.h"
#include "net/url.h"

namespace agent_graph::net {

Result<std::unique_ptr<HttpCall::Transfer>> StartHttp1(boost::asio::io_context& loop,
                                                       HttpRequest request, const HttpRoute& route,
                                                       const runtime::Cancellation& cancellation,
                                                       Deadline started) {
  std::optional<Url> url;
  if (route.proxy.empty()) url = Http1Call::Serves(request);
  if (url) {
    auto call = std::make_unique<Http1Call>(loop, *std::move(url), std::move(request),
                                            route.ca_file, cancellation, started);
    AG_RETURN_IF_ERROR(call->Start());
    return std::unique_ptr<HttpCall::Transfer>(std::move(call));
  }
  auto call =
      std::make_unique<CurlCall>(CurlLoop::Of(loop), std::move(request), cancellation, started);
  AG_RETURN_IF_ERROR(call->Start(route));
  return std::unique_ptr<HttpCall::Transfer>(std::move(call));
}

}  // namespace agent_graph::net
