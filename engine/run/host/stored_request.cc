#include "run/host/stored_request.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>

#include "agent_graph/json.h"
#include "base/own_json.h"
#include "message/codec.h"
#include "models/call_options.h"

namespace agent_graph::run {
namespace {

constexpr int64_t kFormat = 1;
constexpr char kSecrets[] = "secrets";
// Claims that are always stored: who the user is, and what the service has authorized.
constexpr std::string_view kOwnClaims[] = {"user_id", "authz"};

Status Damaged(const std::string& member) {
  return Status(StatusCode::kDataLoss, "the stored request of the run cannot be read: " + member);
}

json KeptClaims(const json& user, const std::vector<std::string>& claims) {
  json kept = json::object();
  for (const auto& [name, value] : user.items()) {
    const bool own = std::ranges::find(kOwnClaims, name) != std::end(kOwnClaims);
    if (own || std::ranges::find(claims, name) != claims.end()) kept[name] = value;
  }
  return kept;
}

json MessagesOf(std::vector<Message>& messages, const IdGenerator& ids) {
  json list = json::array();
  for (Message& message : messages) {
    if (message.id.empty()) message.id = ids.Next();
    list.push_back(message::ToJson(message));
  }
  return list;
}

json ClientToolsOf(const std::vector<ClientTool>& tools) {
  json list = json::array();
  for (const ClientTool& tool : tools) {
    list.push_back({{"name", tool.name},
                    {"description", tool.description},
                    {"parameters", tool.parameters_json}});
  }
  return list;
}

json DecisionsToJson(const std::vector<ToolDecision>& decisions) {
  json list = json::array();
  for (const ToolDecision& decision : decisions) {
    list.push_back({{"call_id", decision.call_id},
                    {"action", static_cast<int64_t>(decision.action)},
                    {"result", decision.result_json}});
  }
  return list;
}

// --- reading: each returns false if the member is missing or of another type -------------------

bool ReadText(const json& object, const char* key, std::string& out) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return false;
  out = found->get<std::string>();
  return true;
}

bool ReadNumber(const json& object, const char* key, int64_t& out) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return false;
  out = found->get<int64_t>();
  return true;
}

// An object, or null.
bool ReadObject(const json& object, const char* key, std::shared_ptr<const json>& out) {
  const auto found = object.find(key);
  if (found == object.end() || !(found->is_object() || found->is_null())) return false;
  if (found->is_object()) out = std::make_shared<const json>(*found);
  return true;
}

bool ReadMessages(const json& object, const char* key, std::vector<Message>& out) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return false;
  for (const json& item : *found) {
    Result<Message> message = message::FromJson(item, key);
    // Messages of other protocols are not checked like those of a request.
    if (!message.ok()) message = message::FromJsonText(DumpJson(item));
    if (!message.ok()) return false;
    out.push_back(*std::move(message));
  }
  return true;
}

// The member is absent in requests of an older build. Absent or null: the service's tools.
bool ReadClientTools(const json& object, const char* key,
                     std::optional<std::vector<ClientTool>>& out) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return true;
  if (!found->is_array()) return false;
  out.emplace();
  for (const json& item : *found) {
    ClientTool tool;
    if (!item.is_object() || !ReadText(item, "name", tool.name) ||
        !ReadText(item, "description", tool.description) ||
        !ReadText(item, "parameters", tool.parameters_json)) {
      return false;
    }
    out->push_back(std::move(tool));
  }
  return true;
}

// Absent in the requests of most runs, and of older builds.
bool ReadDecisions(const json& object, std::vector<ToolDecision>& out) {
  const auto found = object.find("tool_decisions");
  if (found == object.end()) return true;
  if (!found->is_array()) return false;
  for (const json& item : *found) {
    ToolDecision& decision = out.emplace_back();
    int64_t action = 0;
    if (!item.is_object() || !ReadText(item, "call_id", decision.call_id) ||
        !ReadNumber(item, "action", action) || !ReadText(item, "result", decision.result_json) ||
        action < 0 || action > static_cast<int64_t>(ToolDecision::Action::kResult)) {
      return false;
    }
    decision.action = static_cast<ToolDecision::Action>(action);
  }
  return true;
}

// Absent in the requests of most routes.
bool ReadCallOptions(const json& object, std::shared_ptr<const models::CallOptions>& out) {
  const auto found = object.find("call_options");
  if (found == object.end()) return true;
  Result<models::CallOptions> options = models::CallOptionsFromJson(*found);
  if (!options.ok()) return false;
  out = std::make_shared<const models::CallOptions>(*std::move(options));
  return true;
}

bool ReadScope(const json& object, state::Scope& out) {
  const auto found = object.find("scope");
  if (found == object.end() || !found->is_object()) return false;
  const auto all = found->find("all");
  if (all == found->end() || !all->is_boolean()) return false;
  std::string owner;
  if (!ReadText(*found, "owner", owner)) return false;
  out = all->get<bool>() ? state::Scope::All() : state::Scope::Owner(std::move(owner));
  return true;
}

}  // namespace

bool HasSecrets(const RunRequest& request) {
  return request.config != nullptr && request.config->is_object() &&
         request.config->contains(kSecrets);
}

Result<std::string> StoreRequest(RunRequest& request, const std::vector<std::string>& claims,
                                 const IdGenerator& ids) {
  json stored;
  stored["format"] = kFormat;
  stored["scope"] = {{"all", request.scope.kind == state::Scope::Kind::kAll},
                     {"owner", request.scope.user_id}};
  stored["user_id"] = request.user_id;
  stored["user"] = request.user != nullptr && request.user->is_object()
                       ? KeptClaims(*request.user, claims)
                       : json();
  json config = request.config != nullptr ? *request.config : json();
  if (config.is_object()) config.erase(kSecrets);
  stored["config"] = std::move(config);
  stored["messages"] = MessagesOf(request.messages, ids);
  stored["initial_context"] = MessagesOf(request.initial_context, ids);
  if (!request.tool_decisions.empty()) {
    stored["tool_decisions"] = DecisionsToJson(request.tool_decisions);
  }
  stored["initial_state"] = request.initial_state != nullptr ? *request.initial_state : json();
  if (request.client_tools) stored["client_tools"] = ClientToolsOf(*request.client_tools);
  if (!request.note_json.empty()) stored["note"] = request.note_json;
  if (request.log_pieces) stored["log_pieces"] = true;
  if (request.call_options != nullptr) {
    stored["call_options"] = models::ToJson(*request.call_options);
  }
  stored["recursion_limit"] = request.recursion_limit;
  stored["cancelled_after_ms"] = request.cancelled_after.count();
  stored["trace_parent"] = request.trace_parent;
  stored["action"] = request.action;
  std::string text = DumpJson(stored);
  if (text.size() <= kStoredRequestBytesMax) return text;
  return Status(StatusCode::kInvalidArgument,
                "the request has more than " + std::to_string(kStoredRequestBytesMax) +
                    " bytes, which is the limit for a run that continues without its client");
}

Result<RunRequest> LoadRequest(std::string_view text) {
  if (text.size() > kStoredRequestBytesMax) return Damaged("it is too large");
  const Result<json> stored = ParseJson(text, kOwnJsonLimits);
  if (!stored.ok() || !stored->is_object()) return Damaged("not a JSON object");
  int64_t format = 0;
  if (!ReadNumber(*stored, "format", format) || format != kFormat) return Damaged("format");
  RunRequest request;
  if (!ReadScope(*stored, request.scope)) return Damaged("scope");
  if (!ReadText(*stored, "user_id", request.user_id)) return Damaged("user_id");
  if (!ReadObject(*stored, "user", request.user)) return Damaged("user");
  if (!ReadObject(*stored, "config", request.config)) return Damaged("config");
  if (!ReadMessages(*stored, "messages", request.messages)) return Damaged("messages");
  if (!ReadMessages(*stored, "initial_context", request.initial_context)) {
    return Damaged("initial_context");
  }
  if (!ReadDecisions(*stored, request.tool_decisions)) return Damaged("tool_decisions");
  if (!ReadObject(*stored, "initial_state", request.initial_state)) return Damaged("initial_state");
  if (!ReadClientTools(*stored, "client_tools", request.client_tools))
    return Damaged("client_tools");
  if (!ReadCallOptions(*stored, request.call_options)) return Damaged("call_options");
  (void)ReadText(*stored, "note", request.note_json);  // absent in the requests of most routes
  request.log_pieces = stored->value("log_pieces", json()) == true;
  int64_t recursion_limit = 0;
  if (!ReadNumber(*stored, "recursion_limit", recursion_limit) || recursion_limit < 0 ||
      recursion_limit > std::numeric_limits<int>::max()) {
    return Damaged("recursion_limit");
  }
  request.recursion_limit = static_cast<int>(recursion_limit);
  int64_t cancelled_after = 0;
  if (!ReadNumber(*stored, "cancelled_after_ms", cancelled_after) || cancelled_after < 0) {
    return Damaged("cancelled_after_ms");
  }
  request.cancelled_after = std::chrono::milliseconds(cancelled_after);
  if (!ReadText(*stored, "trace_parent", request.trace_parent)) return Damaged("trace_parent");
  // Not in requests of older builds.
  if (stored->contains("action") && !ReadText(*stored, "action", request.action)) {
    return Damaged("action");
  }
  return request;
}

}  // namespace agent_graph::run
