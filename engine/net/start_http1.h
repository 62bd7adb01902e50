// Starts a call over HTTP/1.1: by Http1Call if it serves the request, otherwise by libcurl.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>

#include "net/curl_call.h"
#include "net/http_transfer.h"

namespace agent_graph::net {

// `loop` is the one of this engine thread, and `started` the time at which the caller's call began.
// Does not wait.
Result<std::unique_ptr<HttpCall::Transfer>> StartHttp1(boost::asio::io_context& loop,
                                                       HttpRequest request, const HttpRoute& route,
                                                       const runtime::Cancellation& cancellation,
                                                       Deadline started);

}  // namespace agent_graph::net
