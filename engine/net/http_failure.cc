#include "net/http_failure.h"

namespace agent_graph::net {

Status StatusOf(HttpFailure failure) {
  switch (failure) {
    case HttpFailure::kAddress:
      return {StatusCode::kInvalidArgument, "the address of the server is not usable"};
    case HttpFailure::kCertificate:
      return {StatusCode::kInvalidArgument, "the server's certificate was not accepted"};
    case HttpFailure::kResolve:
      return {StatusCode::kUnavailable, "the server's name could not be resolved"};
    case HttpFailure::kConnect:
      return {StatusCode::kUnavailable, "the server could not be connected"};
    case HttpFailure::kConnectTimeout:
      return {StatusCode::kUnavailable, "the server could not be connected in time"};
    case HttpFailure::kTls:
      return {StatusCode::kUnavailable, "no secure connection to the server"};
    case HttpFailure::kClosed:
      return {StatusCode::kUnavailable, "the server closed the connection too early"};
    case HttpFailure::kMemory:
      return {StatusCode::kResourceExhausted, "no memory for an HTTP call"};
    case HttpFailure::kReply:
      break;
  }
  return {StatusCode::kUnavailable, "the server's reply is not valid HTTP"};
}

}  // namespace agent_graph::net
