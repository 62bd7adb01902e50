// The two bodies every JSON answer is wrapped in, and whole replies made of them. Written directly,
// without a JSON tree; callable from any thread, the nginx thread included.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/errors.h"
#include "bridge/request.h"

namespace agent_graph::api {

// {"success":true,"data":…,"message":…,"timestamp":…,
//  "metadata":{"request_id":…,"timestamp":…,"message":…}}
// `data_json` is JSON text and is copied as it is.
std::string SuccessEnvelope(std::string_view data_json, std::string_view message,
                            std::string_view request_id);
// The same in three parts, of which `data_json` is the middle one: large data is not copied.
std::vector<std::string> SuccessEnvelopeAround(std::string data_json, std::string_view message,
                                               std::string_view request_id);

// {"detail":…,"error":{"code":…,"message":…,"details":[…]},
//  "metadata":{"request_id":…,"timestamp":…,"message":…}}
// Authentication failures also carry "error_code".
std::string ErrorEnvelope(const ErrorInfo& error, std::string_view request_id);

// A complete answer. `headers` are those of this answer only (Content-Type, Allow, Retry-After);
// AppendStandardHeaders adds the ones every answer has.
struct Reply {
  int status = 200;
  bridge::HeaderList headers;
  std::string body;
};

Reply SuccessReply(std::string_view data_json, std::string_view message,
                   std::string_view request_id);
Reply ErrorReply(const ErrorInfo& error, std::string_view request_id);
Reply ErrorReply(ApiError error, std::string_view request_id);
// The refusal of a WebSocket: before it is accepted there is no close code, so the one meant goes
// into a header.
Reply HandshakeRefusal(const ErrorInfo& error, std::string_view request_id);
// 405 with its Allow header; `allow` as RouteMatch has it.
Reply MethodNotAllowedReply(std::string_view allow, std::string_view request_id);

}  // namespace agent_graph::api
