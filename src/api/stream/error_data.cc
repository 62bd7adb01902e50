#include "api/stream/error_data.h"

#include "api/http/errors.h"
#include "base/json.h"

namespace agent_graph::api {

std::string ErrorData(const run::RunEvent& event) {
  const ErrorInfo error = ErrorOf(event.error);
  std::string data = R"({"status":"error","code":)";
  AppendJsonString(data, CodeOf(error));
  data += R"(,"reason":)";
  AppendJsonString(data, MessageOf(error));
  data += R"(,"node":)";
  AppendJsonString(data, event.node);
  data += ",\"step\":" + std::to_string(event.step) + '}';
  return data;
}

}  // namespace agent_graph::api
