#include "graph/object_reader.h"

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/unknown_key.h"

namespace agent_graph::graph {

ObjectReader::ObjectReader(const json& value, std::string path)
    : value_(value), path_(std::move(path)) {
  if (!value_.is_object()) Fail(path_, "must be an object");
}

const json* ObjectReader::Value(const char* key) {
  known_.insert(key);
  if (!value_.is_object()) return nullptr;
  auto found = value_.find(key);
  return found == value_.end() ? nullptr : &*found;
}

std::string ObjectReader::RequiredText(const char* key) {
  if (Value(key) == nullptr) Fail(PathOf(key), "is required");
  std::string text = Text(key, "");
  if (text.empty()) Fail(PathOf(key), "must not be empty");
  return text;
}

std::string ObjectReader::Text(const char* key, std::string otherwise) {
  const json* value = Value(key);
  if (value == nullptr) return otherwise;
  if (value->is_string()) return value->get<std::string>();
  Fail(PathOf(key), "must be a string");
  return otherwise;
}

bool ObjectReader::Bool(const char* key, bool otherwise) {
  const json* value = Value(key);
  if (value == nullptr) return otherwise;
  if (value->is_boolean()) return value->get<bool>();
  Fail(PathOf(key), "must be true or false");
  return otherwise;
}

int64_t ObjectReader::Integer(const char* key, int64_t otherwise, int64_t minimum,
                              int64_t maximum) {
  const json* value = Value(key);
  if (value == nullptr) return otherwise;
  if (value->is_number_integer() && value->get<double>() >= static_cast<double>(minimum) &&
      value->get<double>() <= static_cast<double>(maximum)) {
    return value->get<int64_t>();
  }
  Fail(PathOf(key),
       "must be an integer from " + std::to_string(minimum) + " to " + std::to_string(maximum));
  return otherwise;
}

std::string ObjectReader::ObjectText(const char* key) {
  const json* value = Value(key);
  if (value == nullptr) return "{}";
  if (value->is_object()) return DumpJson(*value);
  Fail(PathOf(key), "must be an object");
  return "{}";
}

std::vector<const json*> ObjectReader::List(const char* key) {
  std::vector<const json*> list;
  const json* value = Value(key);
  if (value == nullptr) return list;
  if (!value->is_array()) {
    Fail(PathOf(key), "must be an array");
    return list;
  }
  for (const json& element : *value) list.push_back(&element);
  return list;
}

std::vector<std::string> ObjectReader::TextList(const char* key) {
  std::vector<std::string> texts;
  for (const json* element : List(key)) {
    if (element->is_string()) {
      texts.push_back(element->get<std::string>());
    } else {
      Fail(PathOf(key) + "." + std::to_string(texts.size()), "must be a string");
      break;
    }
  }
  return texts;
}

std::vector<std::pair<std::string, std::string>> ObjectReader::TextMap(const char* key) {
  std::vector<std::pair<std::string, std::string>> texts;
  const json* value = Value(key);
  if (value == nullptr) return texts;
  if (!value->is_object()) {
    Fail(PathOf(key), "must be an object");
    return texts;
  }
  for (const auto& [name, text] : value->items()) {
    if (text.is_string()) {
      texts.emplace_back(name, text.get<std::string>());
    } else {
      Fail(PathOf(key) + "." + name, "must be a string");
    }
  }
  return texts;
}

void ObjectReader::Fail(const std::string& path, std::string_view problem) {
  if (status_.ok()) status_ = Status(StatusCode::kGraph, path + ": " + std::string(problem));
}

Status ObjectReader::Finish() {
  if (!status_.ok() || !value_.is_object()) return status_;
  for (const auto& [key, value] : value_.items()) {
    if (known_.contains(key)) continue;
    const std::vector<std::string_view> known(known_.begin(), known_.end());
    const std::string advice = AdviceForUnknownKey(key, known);
    Fail(PathOf(key),
         "unknown key; " +
             (advice.empty() ? "valid keys: " + JoinNames({known.begin(), known.end()}) : advice));
    break;
  }
  return status_;
}

std::string JoinNames(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

}  // namespace agent_graph::graph
