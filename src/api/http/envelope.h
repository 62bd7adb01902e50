// The two envelopes of JSON responses, and complete replies with them. Text is written directly,
// without a JSON tree. Thread-safe; the nginx thread calls these functions, too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/http/errors.h"
#include "bridge/request.h"

namespace agent_graph::api {

// {"success":true,"data":…,"message":…,"timestamp":…,
//  "metadata":{"request_id":…,"timestamp":…,"message":…}}
// `data_json` is JSON text and is copied unchanged.
std::string SuccessEnvelope(std::string_view data_json, std::string_view message,
                            std::string_view request_id);
// The same in three parts, of which `data_json` is the middle one: large data is not copied.
std::vector<std::string> SuccessEnvelopeAround(std::string data_json, std::string_view message,
                                               std::string_view request_id);

// {"detail":…,"error":{"code":…,"message":…,"details":[…]},
//  "metadata":{"request_id":…,"timestamp":…,"message":…}}
// Authentication failures also carry "error_code".
std::string ErrorEnvelope(const ErrorInfo& error, std::string_view request_id);

// A complete response. `headers` are those of this response only (Content-Type, Allow,
// Retry-After); the loop adds StandardHeaders.
struct Reply {
  int status = 200;
  bridge::HeaderList headers;
  std::string body;
};

// A complete response with the success envelope.
Reply SuccessReply(std::string_view data_json, std::string_view message,
                   std::string_view request_id);

// Renders an error as a complete response. All that a response says about an error is in `error`;
// a renderer decides only about its form.
using ErrorRenderer = Reply (*)(const ErrorInfo& error, std::string_view request_id);
// The renderer of this API: the error envelope with the status and Retry-After of the error.
Reply ErrorReply(const ErrorInfo& error, std::string_view request_id);
Reply ErrorReply(ApiError error, std::string_view request_id);
// Renders the refusal of a request. `handshake`: the request opens a WebSocket; as a WebSocket that
// is not accepted has no close code, a header contains the code.
Reply Refuse(const ErrorInfo& error, bool handshake, std::string_view request_id,
             ErrorRenderer render = ErrorReply);
// 405 with an Allow header. `allow` as in RouteMatch.
Reply MethodNotAllowedReply(std::string_view allow, std::string_view request_id,
                            ErrorRenderer render = ErrorReply);

}  // namespace agent_graph::api
