#include "tools/schema/schema_reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace agent_graph::tools {
namespace {

using nlohmann::json;

Status Refuse(const std::string& path, const std::string& problem) {
  return Status(StatusCode::kInvalidArgument,
                (path.empty() ? "the schema" : path) + ": " + problem);
}

std::string Join(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

bool IsTextList(const json& value) {
  return value.is_array() &&
         std::all_of(value.begin(), value.end(), [](const json& item) { return item.is_string(); });
}

bool IsTypeName(const json& value) {
  return value.is_string() &&
         std::find(std::begin(kTypeNames), std::end(kTypeNames),
                   value.get_ref<const std::string&>()) != std::end(kTypeNames);
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The pointer of a reference is a URI's fragment.
std::string PercentDecode(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 &&
        HexDigit(text[i + 2]) >= 0) {
      out.push_back(static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

const json* Resolve(const json& root, const std::string& reference) {
  if (reference == "#") return &root;
  try {
    const json::json_pointer pointer(PercentDecode(reference.substr(1)));
    return root.contains(pointer) ? &root.at(pointer) : nullptr;
  } catch (const json::exception&) {
    return nullptr;
  }
}

}  // namespace

Status SchemaReader::ReadSchema(const json& schema, const std::string& path) {
  if (schema.is_boolean() || !read_.insert(&schema).second) return Status::Ok();
  if (!schema.is_object()) return Refuse(path, "must be a schema: an object, true or false");
  for (const auto& [name, value] : schema.items()) {
    if (const Keyword* keyword = FindKeyword(name)) {
      AG_RETURN_IF_ERROR(ReadKeyword(keyword->form, value, Join(path, name)));
    }
  }
  return Status::Ok();
}

Status SchemaReader::ReadKeyword(KeywordForm form, const json& value, const std::string& path) {
  switch (form) {
    case KeywordForm::kSchema:
      return ReadSchema(value, path);
    case KeywordForm::kSchemaOrList:
      return value.is_array() ? ReadSchemaList(value, path) : ReadSchema(value, path);
    case KeywordForm::kSchemas:
      if (!value.is_array() || value.empty()) return Refuse(path, "must be a list of schemas");
      return ReadSchemaList(value, path);
    case KeywordForm::kSchemaMap:
    case KeywordForm::kPatternMap:
    case KeywordForm::kDependencies:
    case KeywordForm::kNameLists:
      return ReadSchemaMap(form, value, path);
    case KeywordForm::kReference:
      return ReadReference(value, path);
    default:
      return ReadScalar(form, value, path);
  }
}

Status SchemaReader::ReadScalar(KeywordForm form, const json& value, const std::string& path) {
  switch (form) {
    case KeywordForm::kTypes:
      if (IsTypeName(value)) return Status::Ok();
      if (value.is_array() && std::all_of(value.begin(), value.end(), IsTypeName)) {
        return Status::Ok();
      }
      return Refuse(path,
                    "must be one of array, boolean, integer, null, number, object, string, or a "
                    "list of them");
    case KeywordForm::kList:
      return value.is_array() ? Status::Ok() : Refuse(path, "must be a list");
    case KeywordForm::kNumber:
      return value.is_number() ? Status::Ok() : Refuse(path, "must be a number");
    case KeywordForm::kNumberOrFlag:
      return value.is_number() || value.is_boolean() ? Status::Ok()
                                                     : Refuse(path, "must be a number");
    case KeywordForm::kCount:
      return value.is_number() && value.get<double>() >= 0
                 ? Status::Ok()
                 : Refuse(path, "must be a number from 0");
    case KeywordForm::kFlag:
      return value.is_boolean() ? Status::Ok() : Refuse(path, "must be true or false");
    case KeywordForm::kNames:
      return IsTextList(value) ? Status::Ok() : Refuse(path, "must be a list of names");
    case KeywordForm::kPattern:
      if (!value.is_string()) return Refuse(path, "must be a string");
      AddPattern(value.get_ref<const std::string&>());
      return Status::Ok();
    default:
      return Status::Ok();
  }
}

Status SchemaReader::ReadSchemaList(const json& list, const std::string& path) {
  for (size_t i = 0; i < list.size(); ++i) {
    AG_RETURN_IF_ERROR(ReadSchema(list[i], Join(path, std::to_string(i))));
  }
  return Status::Ok();
}

Status SchemaReader::ReadSchemaMap(KeywordForm form, const json& map, const std::string& path) {
  if (!map.is_object()) return Refuse(path, "must be an object");
  for (const auto& [name, value] : map.items()) {
    const bool is_list =
        form == KeywordForm::kNameLists || (form == KeywordForm::kDependencies && value.is_array());
    if (is_list) {
      if (!IsTextList(value)) return Refuse(Join(path, name), "must be a list of names");
      continue;
    }
    if (form == KeywordForm::kPatternMap) AddPattern(name);
    AG_RETURN_IF_ERROR(ReadSchema(value, Join(path, name)));
  }
  return Status::Ok();
}

Status SchemaReader::ReadReference(const json& value, const std::string& path) {
  if (!value.is_string()) return Refuse(path, "must be a string");
  const auto& reference = value.get_ref<const std::string&>();
  // Other documents, and names within this one, are not looked up.
  if (reference != "#" && !reference.starts_with("#/")) return Status::Ok();
  const json* target = Resolve(*schema_.root_, reference);
  if (target == nullptr) return Refuse(path, "there is no " + reference);
  schema_.references_.emplace(reference, target);
  return ReadSchema(*target, path);
}

// A pattern of another dialect is not checked.
void SchemaReader::AddPattern(const std::string& text) {
  if (schema_.patterns_.contains(text)) return;
  if (auto pattern = Pattern::Compile(text)) schema_.patterns_.emplace(text, std::move(pattern));
}

}  // namespace agent_graph::tools
