// The ways in which an HTTP call fails, with one message to the client for each.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace agent_graph::net {

enum class HttpFailure : uint8_t {
  kAddress,      // the URL cannot work
  kCertificate,  // the server's certificate was refused
  kResolve,
  kConnect,
  kConnectTimeout,
  kTls,
  kClosed,  // the connection was lost
  kMemory,
  kReply,  // the reply is not HTTP
};

// The message names neither host nor address; add those as the detail.
Status StatusOf(HttpFailure failure);

}  // namespace agent_graph::net
