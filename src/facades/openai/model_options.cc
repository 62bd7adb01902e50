#include "facades/openai/model_options.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "agent_graph/agent.h"
#include "agent_graph/json.h"
#include "base/json.h"
#include "facades/openai/errors.h"
#include "facades/openai/media_parts.h"
#include "graph/compiled_graph.h"
#include "models/provider_kind.h"
#include "settings/settings.h"

namespace agent_graph::openai {
namespace {

using models::CallOptions;

constexpr size_t kStopTextsMax = 4;
constexpr size_t kSchemaBytesMax = 64 * 1024;
constexpr std::string_view kAllowedTools = "allowed_tools";

// Parameters that models take under the same name. The tables of fields check their values.
constexpr std::array kPassedOnByChat = {"temperature", "top_p", "seed", "presence_penalty",
                                        "frequency_penalty"};
constexpr std::array kPassedOnByResponses = {"temperature", "top_p"};

// {"type":"allowed_tools",…}: the request offers some of its tools only.
bool IsAllowedTools(const json& choice) {
  return choice.is_object() && choice.value("type", json()) == kAllowedTools;
}

// The object of such a choice that has `mode` and `tools`; null: it is malformed.
const json* AllowedOf(const json& choice, const char* function_in) {
  const json* allowed =
      function_in != nullptr ? api::FindMember(choice, std::string(kAllowedTools)) : &choice;
  return allowed != nullptr && allowed->is_object() ? allowed : nullptr;
}

class OptionsReader {
 public:
  OptionsReader(const json& body, std::span<const char* const> passed_on, api::Problems& problems)
      : body_(body), problems_(problems) {
    for (const char* name : passed_on) {
      if (const json* value = api::FindMember(body, name)) parameters_[name] = *value;
    }
  }

  CallOptions& options() { return options_; }

  void LimitTokens(const char* name) {
    const json* limit = api::FindMember(body_, name);
    if (limit == nullptr) return;
    const json before = parameters_.value("max_tokens", json());
    parameters_["max_tokens"] = before.is_number() && before < *limit ? before : *limit;
  }

  void ReadEffort(const json* effort) {
    if (effort != nullptr) parameters_["reasoning_effort"] = *effort;
  }

  void ReadStop() {
    const json* stop = api::FindMember(body_, "stop");
    if (stop == nullptr) return;
    const json texts = stop->is_array() ? *stop : json::array({*stop});
    const bool is_fit =
        texts.size() <= kStopTextsMax && std::ranges::all_of(texts, [](const json& text) {
          return text.is_string() && !text.get_ref<const std::string&>().empty();
        });
    if (!is_fit) {
      problems_.Add({"body", "stop"}, "must be a text, or an array of up to 4 texts",
                    api::ProblemType::kValue);
    } else if (!texts.empty()) {
      parameters_["stop"] = texts;
    }
  }

  // `function_in`: the member of the choice that has the name; null: the choice itself.
  void ReadToolChoice(const char* function_in) {
    if (const json* parallel = api::FindMember(body_, "parallel_tool_calls")) {
      options_.parallel_tool_calls = parallel->get<bool>();
    }
    const json* choice = api::FindMember(body_, "tool_choice");
    if (choice == nullptr || *choice == "auto" || *choice == "none") return;
    if (*choice == "required") {
      options_.tool_choice = CallOptions::ToolChoice::kRequired;
      return;
    }
    if (!IsAllowedTools(*choice)) return ReadNamedChoice(*choice, function_in);
    const json* allowed = AllowedOf(*choice, function_in);
    if (allowed != nullptr && allowed->value("mode", json()) == "required") {
      options_.tool_choice = CallOptions::ToolChoice::kRequired;
    }
  }

  // {"type": "json_schema", …}; `schema_in`: the member that describes the schema; null: itself.
  void ReadFormat(const json* format, const Location& place, const char* schema_in) {
    if (format == nullptr || !format->is_object()) return;
    const json type = format->value("type", json());
    if (type == "text") return;
    if (type == "json_object") {
      options_.format = CallOptions::Format{};
      return;
    }
    if (type != "json_schema") {
      problems_.Add(Below(place, "type"), "must be one of text, json_object, json_schema",
                    api::ProblemType::kChoice);
      return;
    }
    const json* described = schema_in != nullptr ? api::FindMember(*format, schema_in) : format;
    const Location inner = schema_in != nullptr ? Below(place, schema_in) : place;
    if (described == nullptr || !described->is_object()) {
      problems_.Add(inner, "must be an object", api::ProblemType::kObjectType);
      return;
    }
    ReadSchema(*described, inner);
  }

  std::shared_ptr<const CallOptions> Finish() {
    options_.parameters_json = DumpJson(parameters_);
    const bool changes = !parameters_.empty() || !options_.instructions.empty() ||
                         options_.tool_choice != CallOptions::ToolChoice::kAuto ||
                         options_.parallel_tool_calls || options_.format;
    return changes ? std::make_shared<const CallOptions>(std::move(options_)) : nullptr;
  }

 private:
  void ReadNamedChoice(const json& choice, const char* function_in) {
    const json* named = &choice;
    if (choice.is_object() && function_in != nullptr) named = api::FindMember(choice, function_in);
    const bool is_function = choice.is_object() && choice.value("type", json()) == "function";
    const bool has_name = is_function && named != nullptr && named->is_object() &&
                          named->value("name", json()).is_string();
    if (!has_name) {
      problems_.Add({"body", "tool_choice"},
                    "must be auto, none, required, or name a function of tools",
                    api::ProblemType::kChoice);
      return;
    }
    options_.tool_choice = CallOptions::ToolChoice::kNamed;
    options_.tool_name = named->at("name").get<std::string>();
    if (!Declares(options_.tool_name, function_in)) {
      problems_.Add({"body", "tool_choice"}, "names a function that is not in tools",
                    api::ProblemType::kValue);
    }
  }

  bool Declares(const std::string& name, const char* function_in) const {
    const json* tools = api::FindMember(body_, "tools");
    if (tools == nullptr || !tools->is_array()) return false;
    return std::ranges::any_of(*tools, [&](const json& tool) {
      if (!tool.is_object() || tool.value("type", json()) != "function") return false;
      const json* function = function_in != nullptr ? api::FindMember(tool, function_in) : &tool;
      return function != nullptr && function->is_object() &&
             function->value("name", json()) == name;
    });
  }

  void ReadSchema(const json& described, const Location& place) {
    CallOptions::Format format;
    format.kind = CallOptions::Format::Kind::kJsonSchema;
    const std::string* name = RequiredText(described, "name", place, problems_);
    const json* schema = api::FindMember(described, "schema");
    if (schema == nullptr || !schema->is_object()) {
      problems_.Add(Below(place, "schema"), schema == nullptr ? "is required" : "must be an object",
                    schema == nullptr ? api::ProblemType::kMissing : api::ProblemType::kObjectType);
      return;
    }
    if (name == nullptr) return;
    format.name = *name;
    format.schema_json = DumpJson(*schema);
    if (format.schema_json.size() > kSchemaBytesMax) {
      problems_.Add(Below(place, "schema"), "has more than 65536 bytes",
                    api::ProblemType::kTooLong);
      return;
    }
    const json* strict = api::FindMember(described, "strict");
    if (strict != nullptr && strict->is_boolean()) format.strict = strict->get<bool>();
    options_.format = std::move(format);
  }

  const json& body_;
  api::Problems& problems_;
  CallOptions options_;
  json parameters_ = json::object();
};

bool WritesJson(const settings::Settings& settings, const std::string& model) {
  const auto found = std::ranges::find(settings.models, model, &models::ProviderOptions::name);
  if (found == settings.models.end()) return false;
  const models::ProviderKind* kind = models::FindProviderKind(found->provider);
  return kind != nullptr && kind->answers_json;
}

}  // namespace

std::shared_ptr<const CallOptions> ReadChatOptions(const json& body, api::Problems& problems) {
  OptionsReader reader(body, kPassedOnByChat, problems);
  reader.LimitTokens("max_tokens");
  reader.LimitTokens("max_completion_tokens");
  reader.ReadEffort(api::FindMember(body, "reasoning_effort"));
  reader.ReadStop();
  reader.ReadToolChoice("function");
  reader.ReadFormat(api::FindMember(body, "response_format"), {"body", "response_format"},
                    "json_schema");
  return reader.Finish();
}

std::shared_ptr<const CallOptions> ReadResponseOptions(const json& body, api::Problems& problems) {
  OptionsReader reader(body, kPassedOnByResponses, problems);
  if (const json* instructions = api::FindMember(body, "instructions")) {
    reader.options().instructions = instructions->get<std::string>();
  }
  reader.LimitTokens("max_output_tokens");
  const json* reasoning = api::FindMember(body, "reasoning");
  reader.ReadEffort(reasoning != nullptr ? api::FindMember(*reasoning, "effort") : nullptr);
  reader.ReadToolChoice(nullptr);
  const json* text = api::FindMember(body, "text");
  reader.ReadFormat(text != nullptr ? api::FindMember(*text, "format") : nullptr,
                    {"body", "text", "format"}, nullptr);
  return reader.Finish();
}

std::optional<std::set<std::string>> AllowedTools(const json& body, const char* function_in) {
  const json* choice = api::FindMember(body, "tool_choice");
  if (choice == nullptr) return std::nullopt;
  if (*choice == "none") return std::set<std::string>();
  if (!IsAllowedTools(*choice)) return std::nullopt;
  std::set<std::string> names;
  const json* allowed = AllowedOf(*choice, function_in);
  const json* tools = allowed != nullptr ? api::FindMember(*allowed, "tools") : nullptr;
  if (tools == nullptr || !tools->is_array()) return names;
  for (const json& tool : *tools) {
    const json* named = &tool;
    if (tool.is_object() && function_in != nullptr) named = api::FindMember(tool, function_in);
    const json name =
        named != nullptr && named->is_object() ? named->value("name", json()) : json();
    if (name.is_string()) names.insert(name.get<std::string>());
  }
  return names;
}

std::optional<api::ErrorInfo> FindFormatProblem(const api::ApiContext& api,
                                                const CallOptions* options, const char* parameter) {
  if (options == nullptr || !options->format) return std::nullopt;
  bool has_agent = false;
  for (const graph::Node& node : api.graph->nodes()) {
    const Agent* agent = std::get_if<Agent>(&node.kind);
    if (agent == nullptr || !agent->output_field.empty()) continue;
    has_agent = true;
    if (!WritesJson(*api.settings, agent->model)) {
      return Unsupported(parameter, "the agent's model \"" + agent->model +
                                        "\" cannot be made to answer with JSON");
    }
  }
  if (has_agent) return std::nullopt;
  return Unsupported(parameter, "no model writes the answers of this agent");
}

}  // namespace agent_graph::openai
