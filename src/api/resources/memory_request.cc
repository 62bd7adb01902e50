#include "api/resources/memory_request.h"

#include <algorithm>

#include "agent_graph/json.h"
#include "api/http/body_config.h"
#include "api/resources/file_references.h"
#include "api/resources/inline_files.h"
#include "api/resources/media_urls.h"
#include "api/resources/memory_shapes.h"
#include "api/resources/message_input.h"
#include "base/json.h"
#include "base/text.h"
#include "message/codec.h"
#include "message/texts.h"

namespace agent_graph::api {
namespace {

// Reads an id in `config`; empty if it is absent, null or blank.
std::string ReadConfigId(const json* config, const std::string& key, Problems& problems) {
  const json* member = config != nullptr ? FindMember(*config, key) : nullptr;
  if (member == nullptr) return "";
  std::optional<std::string> id = ThreadIdText(*member);
  if (!id) {
    problems.Add({"body", "config", key}, "must be a string", ProblemType::kStringType);
    return "";
  }
  if (IsBlank(*id)) return "";
  if (auto problem = LabelProblem(*id)) {
    problems.Add({"body", "config", key}, *std::move(problem), ProblemType::kValue);
  }
  return *std::move(id);
}

// Returns a text of a checked body; empty if it is absent, null or blank.
std::string TextOf(const json& body, const std::string& key) {
  const json* member = FindMember(body, key);
  if (member == nullptr || IsBlank(member->get_ref<const std::string&>())) return "";
  return member->get<std::string>();
}

void CheckBytes(size_t bytes, const std::string& key, const HandlerContext& context,
                Problems& problems) {
  const uint64_t bytes_max = context.api().settings->limits.message_bytes_max;
  if (bytes <= bytes_max) return;
  problems.Add({"body", key}, "must have at most " + std::to_string(bytes_max) + " bytes",
               ProblemType::kTooLong);
}

void CheckBytes(const std::string& text, const std::string& key, const HandlerContext& context,
                Problems& problems) {
  CheckBytes(text.size(), key, context, problems);
}

bool HoldsMoreThanText(const Message& message) {
  return std::ranges::any_of(message.content, [](const ContentBlock& block) {
    return !std::holds_alternative<TextBlock>(block);
  });
}

// Splits "content.role: must be …" into the location and the problem.
void AddMessageProblem(const std::string& text, Problems& problems) {
  const size_t colon = text.find(": ");
  std::vector<std::string> location = {"body"};
  for (size_t start = 0; colon != std::string::npos && start < colon;) {
    const size_t dot = std::min(text.find('.', start), colon);
    location.push_back(text.substr(start, dot - start));
    start = dot + 1;
  }
  if (location.size() == 1) location.emplace_back("content");
  problems.Add(std::move(location), colon == std::string::npos ? text : text.substr(colon + 2),
               ProblemType::kValue);
}

void AddEquals(const json& body, const std::string& key, state::MemoryFilter& filter) {
  const std::string text = TextOf(body, key);
  if (!text.empty()) filter.equals.push_back({key, DumpJson(json(text))});
}

void RefuseLostId(const json& config, const std::string& key, Problems& problems) {
  const auto id = config.find(key);
  if (id == config.end()) return;
  if (id->is_null()) problems.Add({"body", "config", key}, "must not be null", ProblemType::kValue);
  if (id->is_string() && IsBlank(id->get_ref<const std::string&>())) {
    problems.Add({"body", "config", key}, "must not be empty", ProblemType::kTooShort);
  }
}

std::optional<double> ScoreThresholdOf(const json& body) {
  const json* member = FindMember(body, "score_threshold");
  // Clients that want all results send 0, although a similarity may be below it.
  if (member == nullptr || member->get<double>() == 0) return std::nullopt;
  return member->get<double>();
}

// `content` is an array of blocks or a message with blocks.
void CheckContentUrls(const json& content, const HandlerContext& context, Problems& problems) {
  std::vector<std::string> location = {"body", "content"};
  const json* blocks = &content;
  if (!content.is_array()) {
    location.emplace_back("content");
    blocks = FindMember(content, "content");
  }
  if (blocks == nullptr) return;
  CheckMediaUrls(*blocks, location, MessageLimitsOf(context).media_urls, problems);
}

}  // namespace

memory::Access ReadMemoryAccess(const HandlerContext& context, Problems& problems) {
  const json* config = FindMember(context.body(), "config");
  memory::Access access;
  access.scope = context.caller().scope;
  access.user_id = context.caller().user_id;
  access.agent_id = ReadConfigId(config, "agent_id", problems);
  if (access.scope.kind == state::Scope::Kind::kAll) {
    std::string user_id = ReadConfigId(config, "user_id", problems);
    if (!user_id.empty()) {
      access.scope = state::Scope::Owner(user_id);
      access.user_id = std::move(user_id);
    }
  }
  return access;
}

MemoryContent ReadMemoryContent(const HandlerContext& context, Problems& problems) {
  const json& member = context.body().at("content");
  MemoryContent content;
  if (member.is_string()) {
    content.text = member.get<std::string>();
    if (IsBlank(content.text))
      problems.Add({"body", "content"}, "must contain text", ProblemType::kTooShort);
    CheckBytes(content.text, "content", context, problems);
    return content;
  }
  const json blocks = {{"role", "user"}, {"content", member}};
  Result<Message> message = message::FromJson(member.is_array() ? blocks : member, "content");
  if (!message.ok()) {
    AddMessageProblem(message.status().message(), problems);
    return content;
  }
  CheckContentUrls(member, context, problems);
  content.text = message::JoinedTexts(*message);
  if (IsBlank(content.text) && !HoldsMoreThanText(*message)) {
    problems.Add({"body", "content"}, "must contain text or another block", ProblemType::kTooShort);
  }
  CheckBytes(message::ToJsonText(*message).size() - InlineBytes(*message), "content", context,
             problems);
  content.message = *std::move(message);
  return content;
}

StoredMemoryMessage StoreMemoryMessage(HandlerContext& context, MemoryContent content) {
  StoredMemoryMessage stored;
  if (!content.message) return stored;
  std::vector<Message> messages = {*std::move(content.message)};
  stored.error = DescribeFiles(context, {"body"}, messages[0]);
  if (!stored.error) stored.error = StoreInlineFiles(context, messages, false);
  if (!stored.error) stored.json = message::ToJsonText(messages[0]);
  return stored;
}

MemoryMetadata ReadMemoryMetadata(const HandlerContext& context, Problems& problems) {
  MemoryMetadata metadata;
  const json* member = FindMember(context.body(), "metadata");
  if (member == nullptr) return metadata;
  json object = *member;
  if (auto category = object.find("category"); category != object.end()) {
    if (category->is_string() && !IsBlank(category->get_ref<const std::string&>())) {
      metadata.category = category->get<std::string>();
      if (metadata.category->size() > kIdBytesMax) {
        problems.Add({"body", "metadata", "category"},
                     "must have at most " + std::to_string(kIdBytesMax) + " bytes",
                     ProblemType::kTooLong);
      }
    }
    object.erase(category);
  }
  metadata.json = DumpJson(object);
  CheckBytes(metadata.json, "metadata", context, problems);
  return metadata;
}

memory::NewMemory ReadNewMemory(const HandlerContext& context, Problems& problems) {
  const json& body = context.body();
  memory::NewMemory memory;
  memory.memory_type = memory::kMemoryTypes[ChoiceOf(body, kMemoryType)];
  MemoryMetadata metadata = ReadMemoryMetadata(context, problems);
  memory.metadata_json = std::move(metadata.json);
  if (metadata.category) memory.category = *std::move(metadata.category);
  std::string category = TextOf(body, "category");
  if (!category.empty()) memory.category = std::move(category);
  memory.thread_id = ReadConfigId(FindMember(body, "config"), "thread_id", problems);
  return memory;
}

memory::MemoryQuery ReadMemoryQuery(const HandlerContext& context, Problems& problems) {
  const json& body = context.body();
  memory::MemoryQuery query;
  query.text = body.at("query").get<std::string>();
  CheckBytes(query.text, "query", context, problems);
  query.filter = ReadMemoryFilter(context);
  query.strategy = static_cast<memory::Strategy>(ChoiceOf(body, kRetrievalStrategy));
  query.metric = static_cast<state::Metric>(ChoiceOf(body, kDistanceMetric));
  query.limit = MemoryLimit(context, kSearchLimit);
  query.score_min = ScoreThresholdOf(body);
  query.tokens_max = static_cast<uint64_t>(IntegerOf(body, kMaxTokens));
  return query;
}

state::MemoryFilter ReadMemoryFilter(const HandlerContext& context) {
  const json& body = context.body();
  state::MemoryFilter filter;
  AddEquals(body, "memory_type", filter);
  AddEquals(body, "category", filter);
  const json* filters = FindMember(body, "filters");
  if (filters == nullptr) return filter;
  for (const auto& [key, value] : filters->items()) {
    filter.equals.push_back({key, DumpJson(value)});
  }
  return filter;
}

void RefuseLostIds(const HandlerContext& context, Problems& problems) {
  const json* config = FindMember(context.body(), "config");
  if (config == nullptr) return;
  RefuseLostId(*config, "agent_id", problems);
  // For callers who only see their own memories, this id has no effect.
  if (context.caller().scope.kind == state::Scope::Kind::kAll) {
    RefuseLostId(*config, "user_id", problems);
  }
}

uint64_t MemoryLimit(const HandlerContext& context, const Field& field) {
  return std::min(static_cast<uint64_t>(IntegerOf(context.body(), field)), kPageLimitMax);
}

}  // namespace agent_graph::api
