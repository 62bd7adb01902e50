#include "facades/agui/agui_request.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "api/http/body_config.h"
#include "api/resources/request_shapes.h"
#include "api/resources/run_request.h"
#include "base/text.h"
#include "facades/agui/agui_messages.h"
#include "facades/agui/agui_shapes.h"
#include "facades/run/body_members.h"
#include "facades/run/client_tools.h"
#include "facades/run/facade_run.h"
#include "models/call_options.h"
#include "run/context/agent_state.h"

namespace agent_graph::agui {
namespace {

using api::FindMember;
using api::HandlerContext;
using api::Problems;
using api::ProblemType;
using facades::TextOf;

std::vector<ResumeEntry> ReadResume(const json& body) {
  std::vector<ResumeEntry> resume;
  const json* list = FindMember(body, "resume");
  if (list == nullptr) return resume;
  for (const json& value : *list) {
    ResumeEntry& entry = resume.emplace_back();
    entry.interrupt_id = TextOf(value, "interruptId");
    entry.is_cancelled = TextOf(value, "status") == "cancelled";
    if (const json* payload = FindMember(value, "payload")) entry.payload = *payload;
  }
  return resume;
}

// The client's state as the fields to set. A client sends back all of the state that it received,
// so most fields are unchanged.
std::shared_ptr<const json> ReadState(const json& body, Problems& problems) {
  const json* state = FindMember(body, "state");
  if (state == nullptr) return nullptr;
  const bool is_nothing = state->is_string() && state->get_ref<const std::string&>().empty();
  if (!state->is_object()) {
    if (!is_nothing) {
      problems.Add({"body", "state"}, "must be an object: the agent's state has named fields",
                   ProblemType::kObjectType);
    }
    return nullptr;
  }
  json fields = json::object();
  for (const auto& [name, value] : state->items()) {
    if (!run::IsReservedField(name)) fields[name] = value;
  }
  return fields.empty() ? nullptr : std::make_shared<const json>(std::move(fields));
}

// The facts that the application reports, as instructions for the agent's models; null: none.
std::shared_ptr<const models::CallOptions> OptionsOf(const HandlerContext& context,
                                                     Problems& problems) {
  const json* list = FindMember(context.body(), "context");
  if (list == nullptr || list->empty()) return nullptr;
  std::string text = "Facts that the application reports:";
  for (const json& fact : *list) {
    text += "\n- ";
    text += TextOf(fact, "description");
    text += ": ";
    text += TextOf(fact, "value");
  }
  const size_t bytes_max = context.api().settings->limits.message_bytes_max;
  if (text.size() > bytes_max) {
    problems.Add({"body", "context"}, "must have at most " + std::to_string(bytes_max) + " bytes",
                 ProblemType::kTooLong);
  }
  models::CallOptions options;
  options.instructions = std::move(text);
  return std::make_shared<const models::CallOptions>(std::move(options));
}

// Returns the `config` that the graph sees.
std::shared_ptr<const json> ConfigOf(const HandlerContext& context, const json* config) {
  json seen = *api::GraphConfig(config, context.caller());
  json own = json::object();
  if (const json* list = FindMember(context.body(), "context")) own["context"] = *list;
  if (const json* props = FindMember(context.body(), "forwardedProps")) {
    own["forwarded_props"] = *props;
  }
  if (!own.empty()) seen["agui"] = std::move(own);
  return std::make_shared<const json>(std::move(seen));
}

// True for a message that a client only shows. Reasoning belongs to the answer that follows it, and
// is nothing without one.
bool IsShownOnly(const json& message) {
  const std::string_view role = TextOf(message, "role");
  return role == "reasoning" || role == "activity";
}

// Reads `forwardedProps.config`; null: there is none.
const json* ReadConfig(const HandlerContext& context, Problems& problems) {
  const json* props = FindMember(context.body(), "forwardedProps");
  if (props == nullptr || !props->is_object()) return nullptr;
  const json* config = FindMember(*props, "config");
  if (config == nullptr || !config->is_object()) return nullptr;
  const std::vector<std::string> path = {"body", "forwardedProps", "config"};
  api::CheckFields(*config, kConfigFields, path, problems);
  api::CheckBudget(context, *config, path, problems);
  return config;
}

api::RunTerms TermsOf(const HandlerContext& context, const json* config, Problems& problems) {
  api::RunTerms terms = facades::ReadTerms(context, "", problems);
  bool continues = terms.key || context.api().settings->facades.agui.continues;
  if (config != nullptr && FindMember(*config, std::string(api::kOnDisconnect.name)) != nullptr) {
    continues = api::ChoiceOf(*config, api::kOnDisconnect) == 1;
  }
  terms.accepted = continues || terms.key.has_value();
  terms.cancelled_on_leave = terms.accepted && !continues;
  return terms;
}

}  // namespace

AgUiRequest ReadRequest(const HandlerContext& context, Problems& problems) {
  const json& body = context.body();
  AgUiRequest request;
  request.parent_run_id = TextOf(body, "parentRunId");
  request.is_current = FindMember(body, "protocolVersion") != nullptr;
  request.resume = ReadResume(body);
  run::RunRequest& run = request.run;
  run = api::RunRequestOf(context);
  run.thread_id = api::ThreadIdText(body.at("threadId")).value_or("");
  if (auto problem = api::ThreadIdProblem(run.thread_id)) {
    problems.Add({"body", "threadId"}, *std::move(problem), ProblemType::kValue);
  }
  run.run_id = TextOf(body, "runId");
  if (!api::IsUsableRunId(run.run_id)) {
    problems.Add({"body", "runId"},
                 "must have 1 to 128 letters, digits and - _ . :", ProblemType::kValue);
  }
  const json* config = ReadConfig(context, problems);
  run.config = ConfigOf(context, config);
  run.call_options = OptionsOf(context, problems);
  if (config != nullptr) {
    if (FindMember(*config, std::string(api::kOnBusy.name)) != nullptr) {
      run.on_busy = static_cast<run::BusyPolicy>(api::ChoiceOf(*config, api::kOnBusy));
    }
    run.recursion_limit = static_cast<int>(api::IntegerOf(*config, api::kRecursionLimit));
  }
  run.client_tools = facades::ReadClientTools(context, {}, problems);
  run.initial_state = ReadState(body, problems);
  request.terms = TermsOf(context, config, problems);
  return request;
}

std::vector<std::string> MessageIdsOf(const json& messages) {
  std::vector<std::string> ids;
  for (const json& message : messages) {
    if (!IsShownOnly(message)) ids.emplace_back(TextOf(message, "id"));
  }
  return ids;
}

bool HasTail(const json& messages) {
  return std::any_of(messages.begin() + static_cast<ptrdiff_t>(TailOf(messages)), messages.end(),
                     [](const json& message) { return !IsShownOnly(message); });
}

std::vector<size_t> NewMessages(const json& messages,
                                const std::vector<state::StoredMessage>& window) {
  std::unordered_set<std::string> known;
  for (const state::StoredMessage& message : window) known.insert(message.id);
  const auto is_known = [&](const json& message) {
    const std::string id(TextOf(message, "id"));
    const bool is_result = TextOf(message, "role") == "tool";
    return known.contains(id) || (is_result && known.contains(MessageOfResult(id)));
  };
  const size_t tail = TailOf(messages);
  size_t behind_known = messages.size();  // index after the last known message
  while (behind_known > tail && !is_known(messages[behind_known - 1])) --behind_known;
  std::vector<size_t> added;
  for (size_t i = tail; i < behind_known; ++i) {
    const bool is_result = TextOf(messages[i], "role") == "tool";
    if (is_result && !is_known(messages[i])) added.push_back(i);
  }
  for (size_t i = behind_known; i < messages.size(); ++i) {
    if (!IsShownOnly(messages[i])) added.push_back(i);
  }
  return added;
}

}  // namespace agent_graph::agui
