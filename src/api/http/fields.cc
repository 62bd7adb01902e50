#include "api/http/fields.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "agent_graph/json.h"
#include "api/http/body_config.h"
#include "base/text.h"

namespace agent_graph::api {
namespace {

using Path = std::vector<std::string>;

// Where a value is: a member of `outer`, or of what is at `root`. Becomes a path only for a
// problem.
struct Location {
  const Location* outer;
  const Path& root;
  std::string_view name;

  Path ToPath() const {
    Path path = outer != nullptr ? outer->ToPath() : root;
    path.emplace_back(name);
    return path;
  }
};

constexpr int64_t kNoMinimum = std::numeric_limits<int64_t>::min();
constexpr int64_t kNoMaximum = std::numeric_limits<int64_t>::max();

struct Fault {
  std::string message;
  ProblemType type = ProblemType::kValue;
};

std::string JoinChoices(std::span<const std::string_view> choices) {
  std::string text;
  for (std::string_view choice : choices) {
    if (!text.empty()) text += ", ";
    text += choice;
  }
  return text;
}

std::string RangeText(const Field& field) {
  if (field.above_minimum) return "must be above " + std::to_string(field.minimum);
  if (field.maximum == kNoMaximum) return "must be at least " + std::to_string(field.minimum);
  if (field.minimum == kNoMinimum) return "must be at most " + std::to_string(field.maximum);
  return "must be from " + std::to_string(field.minimum) + " to " + std::to_string(field.maximum);
}

bool OutOfRange(double number, const Field& field) {
  if (field.above_minimum && number <= static_cast<double>(field.minimum)) return true;
  return (field.minimum != kNoMinimum && number < static_cast<double>(field.minimum)) ||
         (field.maximum != kNoMaximum && number > static_cast<double>(field.maximum));
}

std::optional<Fault> CheckText(const json& value, const Field& field) {
  if (!value.is_string()) return Fault{"must be a string", ProblemType::kStringType};
  const auto& text = value.get_ref<const std::string&>();
  if (field.not_blank && IsBlank(text)) return Fault{"must not be blank", ProblemType::kValue};
  if (field.maximum != kNoMaximum && text.size() > static_cast<uint64_t>(field.maximum)) {
    return Fault{"must have at most " + std::to_string(field.maximum) + " bytes",
                 ProblemType::kTooLong};
  }
  return std::nullopt;
}

std::optional<Fault> CheckThreadId(const json& value, const Field& field) {
  std::optional<std::string> text = ThreadIdText(value);
  if (!text) return Fault{"must be a string", ProblemType::kStringType};
  if (!field.not_blank && IsBlank(*text)) return std::nullopt;
  std::optional<std::string> problem = ThreadIdProblem(*text);
  return problem ? std::optional(Fault{*std::move(problem), ProblemType::kValue}) : std::nullopt;
}

std::optional<Fault> CheckNumber(const json& value, const Field& field) {
  const bool integer = field.type == FieldType::kInteger;
  const double number = value.is_number() ? value.get<double>() : NAN;
  if (std::isnan(number) || (integer && number != std::floor(number))) {
    return Fault{integer ? "must be an integer" : "must be a number",
                 integer ? ProblemType::kIntegerType : ProblemType::kNumberType};
  }
  if (OutOfRange(number, field)) return Fault{RangeText(field), ProblemType::kOutOfRange};
  return std::nullopt;
}

std::optional<Fault> CheckChoice(const json& value, const Field& field) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (std::ranges::find(field.choices, text) != field.choices.end()) return std::nullopt;
  }
  return Fault{"must be one of " + JoinChoices(field.choices), ProblemType::kChoice};
}

std::optional<Fault> CheckScalar(const json& value, const Field& field) {
  if (value.is_string() && field.not_blank && IsBlank(value.get_ref<const std::string&>())) {
    return Fault{"must not be empty", ProblemType::kTooShort};
  }
  if (value.is_string() || value.is_number() || value.is_boolean()) return std::nullopt;
  return Fault{"must be a string, a number, true or false", ProblemType::kValue};
}

std::optional<Fault> CheckObject(const json& value, const Field& field) {
  if (!value.is_object()) return Fault{"must be an object", ProblemType::kObjectType};
  if (field.maximum != kNoMaximum && value.size() > static_cast<uint64_t>(field.maximum)) {
    return Fault{"must have at most " + std::to_string(field.maximum) + " keys",
                 ProblemType::kTooLong};
  }
  return std::nullopt;
}

std::optional<Fault> CheckArray(const json& value, const Field& field) {
  if (!value.is_array()) return Fault{"must be an array", ProblemType::kArrayType};
  if (field.minimum != kNoMinimum && value.size() < static_cast<uint64_t>(field.minimum)) {
    return Fault{field.type == FieldType::kMessages ? "must contain at least one message"
                                                    : "must contain at least one entry",
                 ProblemType::kTooShort};
  }
  if (field.maximum != kNoMaximum && value.size() > static_cast<uint64_t>(field.maximum)) {
    return Fault{"must contain at most " + std::to_string(field.maximum) + " entries",
                 ProblemType::kTooLong};
  }
  return std::nullopt;
}

std::optional<Fault> CheckOne(const json& value, const Field& field) {
  switch (field.type) {
    case FieldType::kAny:
    case FieldType::kContent:
      return std::nullopt;
    case FieldType::kText:
      return CheckText(value, field);
    case FieldType::kThreadId:
      return CheckThreadId(value, field);
    case FieldType::kInteger:
    case FieldType::kNumber:
      return CheckNumber(value, field);
    case FieldType::kBoolean:
      if (!value.is_boolean()) return Fault{"must be true or false", ProblemType::kBooleanType};
      return std::nullopt;
    case FieldType::kScalar:
      return CheckScalar(value, field);
    case FieldType::kChoice:
      return CheckChoice(value, field);
    case FieldType::kObject:
      return CheckObject(value, field);
    case FieldType::kArray:
    case FieldType::kMessages:
      return CheckArray(value, field);
  }
  return std::nullopt;
}

void CheckMembers(const json& object, std::span<const Field> fields, const Location* outer,
                  const Path& root, Problems& problems);

void CheckValue(const json& value, const Field& field, const Location& location,
                Problems& problems) {
  if (std::optional<Fault> fault = CheckOne(value, field)) {
    problems.Add(location.ToPath(), std::move(fault->message), fault->type);
    return;
  }
  if (!field.members.empty()) {
    CheckMembers(value, field.members, &location, location.root, problems);
  }
  if (field.entry == nullptr) return;
  for (const auto& [key, entry] : value.items()) {  // the keys of an array are its indices
    CheckValue(entry, *field.entry, {&location, location.root, key}, problems);
  }
}

void CheckMembers(const json& object, std::span<const Field> fields, const Location* outer,
                  const Path& root, Problems& problems) {
  for (const Field& field : fields) {
    const Location at{outer, root, field.name};
    const json* value = FindMember(object, field.name);
    if (value != nullptr) {
      CheckValue(*value, field, at, problems);
    } else if (field.required) {
      problems.Add(at.ToPath(), "is required", ProblemType::kMissing);
    } else if (field.not_null && object.contains(field.name)) {
      problems.Add(at.ToPath(), "must not be null", ProblemType::kValue);
    }
  }
}

// --- JSON Schema -----------------------------------------------------------------------------

void SetType(json& schema, std::initializer_list<const char*> types, bool nullable) {
  if (types.size() == 1 && !nullable) {
    schema["type"] = *types.begin();
    return;
  }
  schema["type"] = json(types);
  if (nullable) schema["type"].push_back("null");
}

void SetBounds(json& schema, const Field& field, const char* minimum, const char* maximum) {
  if (field.minimum != kNoMinimum) schema[minimum] = field.minimum;
  if (field.maximum != kNoMaximum) schema[maximum] = field.maximum;
}

void DescribeText(json& schema, const Field& field, bool nullable) {
  SetType(schema, {"string"}, nullable);
  SetBounds(schema, field, "minLength", "maxLength");
  if (field.not_blank) schema["pattern"] = "\\S";
}

// Follows the rules of ThreadIdProblem.
void DescribeThreadId(json& schema, const Field& field, bool nullable) {
  SetType(schema, {"string", "integer"}, nullable);
  if (field.not_blank) schema["pattern"] = "\\S";
  schema["not"] = {{"type", "string"}, {"pattern", "^(-[0-9]+|[+]?0+)$|(^|/)[.]{1,2}(/|$)"}};
  schema["minimum"] = 1;
  schema["maximum"] = std::numeric_limits<uint64_t>::max();
  schema["maxLength"] = kIdBytesMax;
}

void DescribeChoice(json& schema, const Field& field, bool nullable) {
  schema["enum"] = json::array();
  for (std::string_view choice : field.choices) schema["enum"].push_back(choice);
  if (nullable) schema["enum"].push_back(nullptr);
  if (field.has_fallback) schema["default"] = field.choices[static_cast<size_t>(field.fallback)];
}

void DescribeArray(json& schema, const Field& field, bool nullable) {
  SetType(schema, {"array"}, nullable);
  SetBounds(schema, field, "minItems", "maxItems");
  if (field.type == FieldType::kMessages) {
    schema["items"] = {{"$ref", "#/components/schemas/MessageInput"}};
  } else if (field.entry != nullptr) {
    schema["items"] = SchemaOf(*field.entry);
  }
}

void DescribeObject(json& schema, const Field& field, bool nullable) {
  schema = SchemaOf(field.members);
  SetType(schema, {"object"}, nullable);
  SetBounds(schema, field, "minProperties", "maxProperties");
  if (field.entry != nullptr) schema["additionalProperties"] = SchemaOf(*field.entry);
}

void DescribeType(json& schema, const Field& field) {
  const bool nullable = !field.required && !field.not_null;
  switch (field.type) {
    case FieldType::kAny:
      return;
    case FieldType::kContent:
      schema["$ref"] = "#/components/schemas/ContentInput";
      return;
    case FieldType::kText:
      return DescribeText(schema, field, nullable);
    case FieldType::kThreadId:
      return DescribeThreadId(schema, field, nullable);
    case FieldType::kInteger:
    case FieldType::kNumber:
      SetType(schema, {field.type == FieldType::kInteger ? "integer" : "number"}, nullable);
      SetBounds(schema, field, field.above_minimum ? "exclusiveMinimum" : "minimum", "maximum");
      if (field.has_fallback) schema["default"] = field.fallback;
      return;
    case FieldType::kBoolean:
      return SetType(schema, {"boolean"}, nullable);
    case FieldType::kChoice:
      return DescribeChoice(schema, field, nullable);
    case FieldType::kScalar:
      SetType(schema, {"string", "number", "boolean"}, nullable);
      if (field.not_blank) schema["pattern"] = "\\S";
      return;
    case FieldType::kObject:
      return DescribeObject(schema, field, nullable);
    case FieldType::kArray:
    case FieldType::kMessages:
      return DescribeArray(schema, field, nullable);
  }
}

}  // namespace

void CheckFields(const json& object, std::span<const Field> fields,
                 const std::vector<std::string>& location, Problems& problems) {
  CheckMembers(object, fields, nullptr, location, problems);
}

int64_t IntegerOf(const json& object, const Field& field) {
  const json* value = FindMember(object, field.name);
  if (value == nullptr || !value->is_number()) return field.fallback;
  // Exact for all values within the bounds of our fields.
  return static_cast<int64_t>(value->get<double>());
}

size_t ChoiceOf(const json& object, const Field& field) {
  const json* value = FindMember(object, field.name);
  if (value != nullptr && value->is_string()) {
    auto found = std::ranges::find(field.choices, value->get_ref<const std::string&>());
    if (found != field.choices.end()) return static_cast<size_t>(found - field.choices.begin());
  }
  return static_cast<size_t>(field.fallback);
}

json SchemaOf(const Field& field) {
  json schema = json::object();
  DescribeType(schema, field);
  if (!field.description.empty()) schema["description"] = field.description;
  return schema;
}

json SchemaOf(std::span<const Field> fields) {
  json schema = {{"type", "object"}};
  for (const Field& field : fields) {
    schema["properties"][std::string(field.name)] = SchemaOf(field);
    if (field.required) schema["required"].push_back(field.name);
  }
  return schema;
}

json SchemaOf(const FieldTable& table) {
  json schema = SchemaOf(table.fields);
  for (const std::string_view name : table.one_of) {
    schema["anyOf"].push_back({{"required", json::array({name})}});
  }
  return schema;
}

}  // namespace agent_graph::api
