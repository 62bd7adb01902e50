#include "tools/mcp/http/parameter_headers.h"

#include <algorithm>
#include <utility>

#include "agent_graph/json.h"
#include "base/base64.h"
#include "base/letter_case.h"
#include "base/text.h"
#include "tools/mcp/protocol/header_marks.h"

namespace agent_graph::tools::mcp {
namespace {

constexpr char kHeaderPrefix[] = "Mcp-Param-";
constexpr std::string_view kEncodedBegin = "=?base64?";
constexpr std::string_view kEncodedEnd = "?=";
constexpr std::string_view kTokenSigns = "!#$%&'*+-.^_`|~";
// Larger integers are not exact in every JSON implementation.
constexpr int64_t kIntegerMax = (int64_t{1} << 53) - 1;
constexpr size_t kSchemaDepthMax = 64;
constexpr size_t kProblemBytesMax = 100;

bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kTokenSigns.find(c) != std::string_view::npos;
  });
}

bool IsPlain(std::string_view value) {
  if (value.empty() || value.front() == ' ' || value.back() == ' ') return false;
  if (value.starts_with(kEncodedBegin) && value.ends_with(kEncodedEnd)) return false;
  return std::all_of(value.begin(), value.end(), [](char c) { return c >= 32 && c < 127; });
}

// Returns null if there is no value at the path.
const json* ValueAt(const json& arguments, const std::vector<std::string>& path) {
  const json* value = &arguments;
  for (const std::string& name : path) {
    if (!value->is_object()) return nullptr;
    const auto found = value->find(name);
    if (found == value->end()) return nullptr;
    value = &*found;
  }
  return value->is_null() ? nullptr : value;
}

Result<std::string> TextOf(const json& value) {
  if (value.is_boolean()) return std::string(value.get<bool>() ? "true" : "false");
  if (value.is_string()) return value.get<std::string>();
  const bool exact = value.is_number_unsigned()
                         ? value.get<uint64_t>() <= static_cast<uint64_t>(kIntegerMax)
                         : value.is_number_integer() && value.get<int64_t>() >= -kIntegerMax &&
                               value.get<int64_t>() <= kIntegerMax;
  if (exact) return value.dump();
  // JSON does not distinguish integers: 42.0 is one, too.
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (number >= static_cast<double>(-kIntegerMax) && number <= static_cast<double>(kIntegerMax) &&
        static_cast<double>(static_cast<int64_t>(number)) == number) {
      return std::to_string(static_cast<int64_t>(number));
    }
  }
  return InvalidArgument("is neither text, nor true or false, nor an integer of at most 53 bits");
}

}  // namespace

Result<ParameterHeaders> ParameterHeaders::Read(const json& schema) {
  ParameterHeaders headers;
  AG_RETURN_IF_ERROR(headers.Visit(schema, true, 0));
  return headers;
}

// Marks are valid only on properties that a chain of "properties" leads to. Anywhere else they are
// errors, so every place that may hold a schema is searched.
Status ParameterHeaders::Visit(const json& schema, bool reachable, size_t depth) {
  if (depth > kSchemaDepthMax) return InvalidArgument("its schema is too deep");
  if (schema.is_array()) {
    for (const json& element : schema) {
      AG_RETURN_IF_ERROR(Visit(element, false, depth + 1));
    }
    return Status::Ok();
  }
  if (!schema.is_object()) return Status::Ok();
  if (schema.contains(kHeaderMark)) AG_RETURN_IF_ERROR(Add(schema, reachable && !path_.empty()));
  for (const auto& [keyword, value] : schema.items()) {
    if (HasPlainValue(keyword)) continue;
    if (!HasNamedSchemas(keyword) || !value.is_object()) {
      AG_RETURN_IF_ERROR(Visit(value, false, depth + 1));
      continue;
    }
    for (const auto& [name, property] : value.items()) {
      path_.push_back(name);
      AG_RETURN_IF_ERROR(Visit(property, reachable && keyword == "properties", depth + 1));
      path_.pop_back();
    }
  }
  return Status::Ok();
}

Status ParameterHeaders::Add(const json& property, bool reachable) {
  const json& mark = property.at(kHeaderMark);
  if (!mark.is_string() || !IsToken(mark.get_ref<const std::string&>())) {
    return InvalidArgument("x-mcp-header: must be the name of a header");
  }
  const auto& name = mark.get_ref<const std::string&>();
  const std::string shown = OneLine(name, kProblemBytesMax);
  if (!reachable) return InvalidArgument("x-mcp-header " + shown + ": stands where no argument is");
  const json type = property.value("type", json());
  if (type != "string" && type != "integer" && type != "boolean") {
    return InvalidArgument("x-mcp-header " + shown +
                           ": is only for strings, integers and booleans");
  }
  const std::string header = kHeaderPrefix + name;
  for (const Marked& other : marked_) {
    if (EqualsIgnoringCase(other.header, header)) {
      return InvalidArgument("x-mcp-header " + shown + ": is there twice");
    }
  }
  if (marked_.size() == kParameterHeadersMax) {
    return InvalidArgument("more than " + std::to_string(kParameterHeadersMax) + " x-mcp-header");
  }
  marked_.push_back({header, path_});
  return Status::Ok();
}

Result<net::HttpHeaders> ParameterHeaders::Of(const json& arguments) const {
  net::HttpHeaders headers;
  for (const Marked& marked : marked_) {
    const json* const value = ValueAt(arguments, marked.path);
    if (value == nullptr) continue;
    Result<std::string> text = TextOf(*value);
    if (!text.ok()) {
      return InvalidArgument("the argument \"" + marked.path.back() + "\" " +
                             text.status().message());
    }
    if (text->size() > kParameterHeaderBytesMax) {
      return InvalidArgument("the argument \"" + marked.path.back() + "\" is longer than " +
                             std::to_string(kParameterHeaderBytesMax) + " bytes");
    }
    headers.emplace_back(marked.header, HeaderText(*text));
  }
  return headers;
}

std::string HeaderText(std::string_view value) {
  if (IsPlain(value)) return std::string(value);
  return std::string(kEncodedBegin) + EncodeBase64(value) + std::string(kEncodedEnd);
}

}  // namespace agent_graph::tools::mcp
