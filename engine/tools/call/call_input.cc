#include "tools/call/call_input.h"

#include <utility>

#include "base/json.h"
#include "tools/call/text_format.h"
#include "tools/schema/json_schema.h"

namespace agent_graph::tools {
namespace {

std::string TextAt(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Forms are flat, so only the top-level properties have defaults to fill in.
void FillIn(const json& schema, json& content) {
  const auto properties = schema.find("properties");
  if (properties == schema.end() || !properties->is_object()) return;
  for (const auto& [name, property] : properties->items()) {
    if (!property.is_object() || content.contains(name)) continue;
    if (const auto value = property.find("default"); value != property.end()) {
      content[name] = *value;
    }
  }
}

// Formats, which the schema of a tool's arguments does not check: only forms are filled in by
// people, who can correct a mistake.
Status CheckFormats(const json& schema, const json& content) {
  const auto properties = schema.find("properties");
  if (properties == schema.end() || !properties->is_object()) return Status::Ok();
  for (const auto& [name, property] : properties->items()) {
    const auto value = content.find(name);
    if (!property.is_object() || value == content.end() || !value->is_string()) continue;
    const std::string format = TextAt(property, "format");
    if (!HasFormat(value->get_ref<const std::string&>(), format)) {
      std::string problem = "content: ";
      problem.append(name).append(": must have the format ").append(format);
      return InvalidArgument(problem);
    }
  }
  return Status::Ok();
}

Status CheckContent(const json& schema, const json& content) {
  const Result<JsonSchemaPtr> compiled = JsonSchema::Compile(DumpJson(schema));
  if (!compiled.ok()) return Status::Ok();  // the tool itself checks the content
  std::string text;
  for (const std::string& problem : (*compiled)->Check(content)) {
    text += (text.empty() ? "content: " : "; ") + problem;
  }
  return text.empty() ? Status::Ok() : InvalidArgument(text);
}

}  // namespace

json Question::ToJson() const {
  json value = {{"key", key}, {"message", message}};
  if (schema.is_null()) {
    value["url"] = url;
  } else {
    value["schema"] = schema;
  }
  return value;
}

std::optional<Question> Question::FromJson(const json& value) {
  if (!value.is_object()) return std::nullopt;
  Question question;
  question.key = TextAt(value, "key");
  question.message = TextAt(value, "message");
  question.url = TextAt(value, "url");
  question.schema = value.value("schema", json());
  if (question.url.empty() && !question.schema.is_object()) return std::nullopt;
  return question;
}

Result<json> ReadAnswer(const Question& question, const json& value) {
  const std::string action = value.is_object() ? TextAt(value, "action") : "";
  if (action == "decline" || action == "cancel") return json{{"action", action}};
  if (action != "accept") {
    return InvalidArgument(
        "must be an object with \"action\": \"accept\", \"decline\" or \"cancel\"");
  }
  if (question.schema.is_null()) return json{{"action", action}};
  json content = value.value("content", json::object());
  if (!content.is_object()) return InvalidArgument("content: must be an object");
  FillIn(question.schema, content);
  AG_RETURN_IF_ERROR(CheckContent(question.schema, content));
  AG_RETURN_IF_ERROR(CheckFormats(question.schema, content));
  return json{{"action", action}, {"content", std::move(content)}};
}

}  // namespace agent_graph::tools
