#include "facades/mcp/json_rpc.h"

#include "agent_graph/json.h"
#include "api/http/validation.h"
#include "base/json.h"

namespace agent_graph::mcp {
namespace {

constexpr int kBadRequest = 400;

RpcError Invalid(std::string problem) {
  return {kInvalidRequest, std::move(problem), kBadRequest};
}

bool IsId(const json& value) {
  return value.is_string() || value.is_number_integer();
}

std::string Opening() {
  return R"({"jsonrpc":"2.0",)";
}

}  // namespace

const std::string* TextMember(const json* object, const char* name) {
  if (object == nullptr) return nullptr;
  const auto found = object->find(name);
  if (found == object->end() || !found->is_string()) return nullptr;
  return &found->get_ref<const std::string&>();
}

const json* ObjectMember(const json* object, const char* name) {
  if (object == nullptr) return nullptr;
  const auto found = object->find(name);
  return found != object->end() && found->is_object() ? &*found : nullptr;
}

std::optional<RpcError> ReadMessage(const json& body, RpcMessage& message) {
  const std::string* version = TextMember(&body, "jsonrpc");
  if (version == nullptr || *version != "2.0") return Invalid("jsonrpc: must be \"2.0\"");
  const auto id = body.find("id");
  const bool has_id = id != body.end();
  if (has_id) {
    if (!IsId(*id)) return Invalid("id: must be a text or an integer");
    message.id_json = DumpJson(*id);
    if (message.id_json.size() > kIdBytesMax) {
      message.id_json = kNoId;
      return Invalid("id: must have at most " + std::to_string(kIdBytesMax) + " bytes");
    }
  }
  if (const auto method = body.find("method"); method != body.end()) {
    if (!method->is_string()) return Invalid("method: must be a text");
    message.method = method->get_ref<const std::string&>();
    message.kind = has_id ? RpcMessage::Kind::kRequest : RpcMessage::Kind::kNotification;
    const json* params = api::FindMember(body, "params");
    if (params == nullptr) return std::nullopt;
    if (!params->is_object()) return Invalid("params: must be an object");
    message.params = params;
    return std::nullopt;
  }
  const bool has_error = ObjectMember(&body, "error") != nullptr;
  message.result = ObjectMember(&body, "result");
  if (!has_id || has_error == (message.result != nullptr)) {
    return Invalid("must be a request, a notification or a response");
  }
  message.kind = RpcMessage::Kind::kResponse;
  return std::nullopt;
}

std::string ResultMessage(std::string_view id_json, std::string_view result_json) {
  std::string out = Opening();
  out.reserve(out.size() + id_json.size() + result_json.size() + 24);
  out += "\"id\":";
  out += id_json;
  out += ",\"result\":";
  out += result_json;
  out += '}';
  return out;
}

std::string ErrorMessage(std::string_view id_json, const RpcError& error) {
  std::string out = Opening() + "\"id\":";
  out += id_json;
  out += R"(,"error":{"code":)" + std::to_string(error.code) + ",\"message\":";
  AppendJsonString(out, error.message);
  if (!error.data_json.empty()) out += ",\"data\":" + error.data_json;
  out += "}}";
  return out;
}

std::string NotificationMessage(std::string_view method, std::string_view params_json) {
  std::string out = Opening() + "\"method\":";
  AppendJsonString(out, method);
  out += ",\"params\":";
  out += params_json;
  out += '}';
  return out;
}

std::string RequestMessage(std::string_view id_json, std::string_view method,
                           std::string_view params_json) {
  std::string out = Opening() + "\"id\":";
  out += id_json;
  out += ",\"method\":";
  AppendJsonString(out, method);
  out += ",\"params\":";
  out += params_json;
  out += '}';
  return out;
}

}  // namespace agent_graph::mcp
