#include "admin/agentflow/conversation.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "admin/agentflow/execution.h"
#include "agent_graph/json.h"
#include "agent_graph/message.h"
#include "base/clock.h"
#include "base/own_json.h"
#include "message/codec.h"
#include "state/limits.h"
#include "state/rules/ids.h"

namespace agent_graph::admin::agentflow {
namespace {

constexpr std::string_view kAnonymous = "anonymous";

// Members of a state that are no fields of the graph: `__agentflow__` and the like are headers.
bool IsField(const std::string& name) {
  return name != "context" && name != "context_summary" && name != "execution_meta" &&
         !name.starts_with("__");
}

json ParseOr(std::string_view text, json otherwise) {
  if (text.empty()) return otherwise;
  Result<json> parsed = ParseJson(text, kOwnJsonLimits);
  return parsed.ok() ? std::move(*parsed) : std::move(otherwise);
}

std::string TextOf(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_integer() ? DumpJson(value) : std::string();
}

json Blocks(const std::string& content) {
  Result<json> parsed = ParseJson(content, kOwnJsonLimits);
  if (parsed.ok() && parsed->is_array()) return std::move(*parsed);
  if (parsed.ok() && parsed->is_object()) return json::array({std::move(*parsed)});
  return json::array({{{"type", "text"}, {"text", content}}});
}

json MessageOf(const StoredMessage& row) {
  json message = {{"message_id", row.id},
                  {"role", row.role},
                  {"content", Blocks(row.content)},
                  {"timestamp", static_cast<double>(row.created_micros) / kMicrosPerSecond},
                  {"metadata", ParseOr(row.metadata_json, json::object())}};
  if (!row.reasoning.empty()) message["reasoning"] = row.reasoning;
  if (json usages = ParseOr(row.usages_json, nullptr); usages.is_object() && !usages.empty()) {
    message["usages"] = std::move(usages);
  }
  if (json calls = ParseOr(row.tool_calls_json, nullptr); calls.is_array()) {
    message["tools_calls"] = std::move(calls);
  }
  return message;
}

bool RefersToFile(const json& value) {
  if (value.is_array()) return std::ranges::any_of(value, RefersToFile);
  if (!value.is_object()) return false;
  const auto id = value.find("file_id");
  if (id != value.end() && id->is_string() && !id->get_ref<const std::string&>().empty()) {
    return true;
  }
  return std::any_of(value.begin(), value.end(), RefersToFile);
}

class Converter {
 public:
  explicit Converter(const StoredThread& stored) : stored_(stored) {}

  Conversation Convert() {
    FillRecord();
    ReadState();
    AddMessages();
    LimitWindow();
    return std::move(result_);
  }

 private:
  void Problem(const std::string& text) {
    result_.problems.push_back("thread " + stored_.id + ": " + text);
  }

  void FillRecord() {
    state::ThreadRecord& record = result_.record;
    record.thread_id = stored_.id;
    if (stored_.user != kAnonymous) record.owner = stored_.user;
    record.creation_id = CreationId(stored_.id);
    // The name that AgentFlow gives to threads without one.
    if (stored_.name != "Thread " + stored_.id) record.name = stored_.name;
    record.created_micros = stored_.created_micros;
    record.updated_micros = std::max(stored_.updated_micros, stored_.created_micros);
    const json metadata = ParseOr(stored_.metadata_json, json::object());
    if (!metadata.is_object()) return;
    if (const auto run = metadata.find("run_id"); run != metadata.end()) {
      record.last_run_id = TextOf(*run);
    }
    std::string text = DumpJson(metadata);
    if (text.size() <= state::kThreadJsonBytesMax) {
      record.metadata_json = std::move(text);
    } else {
      Problem("its metadata is too large");
    }
  }

  void ReadState() {
    if (stored_.state_json.empty()) return;
    json state = ParseOr(stored_.state_json, nullptr);
    if (!state.is_object()) return Problem("its state is no JSON object");
    result_.has_state = true;
    if (auto context = state.find("context"); context != state.end() && context->is_array()) {
      for (json& message : *context) AddToContext(std::move(message));
    }
    if (auto summary = state.find("context_summary");
        summary != state.end() && summary->is_string()) {
      result_.snapshot.summary = summary->get<std::string>();
    }
    if (auto execution = state.find("execution_meta"); execution != state.end()) {
      result_.snapshot.execution_json = ExecutionOf(*execution);
    }
    json fields = json::object();
    for (auto& [name, value] : state.items()) {
      if (IsField(name)) fields[name] = std::move(value);
    }
    std::string text = DumpJson(fields);
    if (text.size() > state::kFieldsBytesMax)
      return Problem("the fields of its state are too large");
    result_.snapshot.fields_json = std::move(text);
  }

  void AddToContext(json message) {
    if (!message.is_object()) return Problem("a message of its context is no JSON object");
    const std::string id = message.contains("message_id") ? TextOf(message["message_id"]) : "";
    if (id.empty()) return Problem("a message of its context has no id");
    if (context_.emplace(id, context_order_.size()).second) {
      context_order_.push_back(std::move(message));
    }
  }

  // Takes a message from the context if it is there: its row lacks some members, such as its time.
  void AddMessages() {
    std::vector<bool> added(context_order_.size());
    for (size_t i = 0; i < stored_.messages.size();) {
      // The context knows the order of messages that were stored together.
      size_t end = i + 1;
      while (end < stored_.messages.size() &&
             stored_.messages[end].created_micros == stored_.messages[i].created_micros) {
        ++end;
      }
      std::vector<const StoredMessage*> together;
      for (; i < end; ++i) together.push_back(&stored_.messages[i]);
      std::ranges::stable_sort(together, {}, [this](const StoredMessage* message) {
        const auto place = context_.find(message->id);
        return place == context_.end() ? 0 : place->second + 1;
      });
      for (const StoredMessage* message : together) {
        const auto place = context_.find(message->id);
        if (place == context_.end()) {
          Add(MessageOf(*message), message->id, false);
        } else {
          added[place->second] = true;
          Add(std::move(context_order_[place->second]), message->id, true);
        }
      }
    }
    for (size_t i = 0; i < context_order_.size(); ++i) {
      if (added[i]) continue;
      const std::string id = TextOf(context_order_[i]["message_id"]);
      Add(std::move(context_order_[i]), id, true);
    }
  }

  void Add(json value, const std::string& id, bool in_window) {
    if (const Status valid = state::CheckId(id, "its id"); !valid.ok()) {
      return Problem("message " + id + ": " + valid.message());
    }
    const bool refers_to_file = value.contains("content") && RefersToFile(value["content"]);
    Result<Message> message = message::FromJson(value, "");
    // A block of a kind that this service does not know is kept as it is.
    if (!message.ok()) {
      const std::string problem = message.status().message();
      message = message::FromJsonText(DumpJson(value));
      Problem("message " + id + ": " + problem +
              (message.ok() ? " (kept, but models may not see that part)" : " (left out)"));
      if (!message.ok()) return;
    }
    message->id = id;  // also "0", which means "no id" in requests
    result_.file_references += refers_to_file ? 1 : 0;
    result_.messages.push_back({{.id = id, .json = message::ToJsonText(*message)}, in_window});
  }

  void LimitWindow() {
    size_t bytes = 0;
    uint64_t items = 0;
    for (size_t i = result_.messages.size(); i > 0; --i) {
      Conversation::Item& item = result_.messages[i - 1];
      if (!item.in_window) continue;
      bytes += item.message.json.size();
      if (bytes <= state::kWindowBytesMax && ++items <= state::kWindowItemsMax) continue;
      item.in_window = false;
      if (!limited_) Problem("its context is too large: models see only the newest messages");
      limited_ = true;
    }
  }

  const StoredThread& stored_;
  Conversation result_;
  std::unordered_map<std::string, size_t> context_;  // message id → index into context_order_
  std::vector<json> context_order_;
  bool limited_ = false;
};

}  // namespace

Conversation Convert(const StoredThread& stored) {
  return Converter(stored).Convert();
}

std::string CreationId(const std::string& thread_id) {
  return "agentflow:" + thread_id;
}

}  // namespace agent_graph::admin::agentflow
