#include "tools/schema/schema_reader.h"

#include <algorithm>

#include "agent_graph/json.h"
#include "base/percent_encoding.h"

namespace agent_graph::tools {
namespace {

constexpr size_t kRoot = static_cast<size_t>(-1);  // parent of the root schema
constexpr size_t kPatternsMax = 256;
constexpr size_t kPatternBytesInAllMax = 256 * 1024;  // after compilation
constexpr size_t kPlaceBytesMax = 200;

bool IsTextList(const json& value) {
  return value.is_array() &&
         std::all_of(value.begin(), value.end(), [](const json& item) { return item.is_string(); });
}

bool IsTypeName(const json& value) {
  return value.is_string() &&
         std::find(std::begin(kTypeNames), std::end(kTypeNames),
                   value.get_ref<const std::string&>()) != std::end(kTypeNames);
}

const json* Resolve(const json& root, const std::string& reference) {
  if (reference == "#") return &root;
  try {
    // The reference is a URI fragment, so its pointer is percent-encoded.
    const json::json_pointer pointer(PercentDecodeLeniently(std::string_view(reference).substr(1)));
    return root.contains(pointer) ? &root.at(pointer) : nullptr;
  } catch (const json::exception&) {
    return nullptr;
  }
}

}  // namespace

Status SchemaReader::Read() {
  Enqueue(*schema_.root_, {kRoot, {}});
  while (!unread_.empty()) {
    const Unread next = unread_.back();
    unread_.pop_back();
    AG_RETURN_IF_ERROR(ReadSchema(*next.schema, next.place));
  }
  return Status::Ok();
}

// Each schema is read once, so shared and recursive references end.
void SchemaReader::Enqueue(const json& schema, const Place& place) {
  if (!schema.is_boolean() && known_.insert(&schema).second) {
    unread_.push_back({&schema, Keep(place)});
  }
}

size_t SchemaReader::Keep(const Place& place) {
  places_.push_back(place);
  return places_.size() - 1;
}

Status SchemaReader::Refuse(const Place& place, const std::string& problem) const {
  std::string path;
  for (const Place* at = &place; path.size() < kPlaceBytesMax; at = &places_[at->parent]) {
    const bool is_element = at->member.empty() && at->parent != kRoot;
    const std::string step = is_element ? std::to_string(at->element)
                                        : std::string(at->member.substr(0, kPlaceBytesMax));
    if (!step.empty() && !path.empty()) path.insert(0, ".");
    path.insert(0, step);
    if (at->parent == kRoot) break;
  }
  return Status(StatusCode::kInvalidArgument,
                (path.empty() ? "the schema" : path) + ": " + problem);
}

Status SchemaReader::ReadSchema(const json& schema, size_t place) {
  if (!schema.is_object()) {
    return Refuse(Place(places_[place]), "must be a schema: an object, true or false");
  }
  for (auto member = schema.begin(); member != schema.end(); ++member) {
    if (const Keyword* keyword = FindKeyword(member.key())) {
      AG_RETURN_IF_ERROR(ReadKeyword(keyword->form, *member, {place, keyword->name}));
    }
  }
  return Status::Ok();
}

Status SchemaReader::ReadKeyword(KeywordForm form, const json& value, const Place& place) {
  switch (form) {
    case KeywordForm::kSchema:
      Enqueue(value, place);
      return Status::Ok();
    case KeywordForm::kSchemaOrList:
      if (value.is_array()) {
        EnqueueList(value, place);
      } else {
        Enqueue(value, place);
      }
      return Status::Ok();
    case KeywordForm::kSchemas:
      if (!value.is_array() || value.empty()) return Refuse(place, "must be a list of schemas");
      EnqueueList(value, place);
      return Status::Ok();
    case KeywordForm::kSchemaMap:
    case KeywordForm::kPatternMap:
    case KeywordForm::kDependencies:
    case KeywordForm::kNameLists:
      return ReadSchemaMap(form, value, place);
    case KeywordForm::kReference:
      return ReadReference(value, place);
    default:
      return ReadScalar(form, value, place);
  }
}

Status SchemaReader::ReadScalar(KeywordForm form, const json& value, const Place& place) {
  switch (form) {
    case KeywordForm::kTypes:
      if (IsTypeName(value)) return Status::Ok();
      if (value.is_array() && std::all_of(value.begin(), value.end(), IsTypeName)) {
        return Status::Ok();
      }
      return Refuse(place,
                    "must be one of array, boolean, integer, null, number, object, string, or a "
                    "list of them");
    case KeywordForm::kList:
      return value.is_array() ? Status::Ok() : Refuse(place, "must be a list");
    case KeywordForm::kNumber:
      return value.is_number() ? Status::Ok() : Refuse(place, "must be a number");
    case KeywordForm::kNumberOrFlag:
      return value.is_number() || value.is_boolean() ? Status::Ok()
                                                     : Refuse(place, "must be a number");
    case KeywordForm::kCount:
      return value.is_number() && value.get<double>() >= 0
                 ? Status::Ok()
                 : Refuse(place, "must be a number from 0");
    case KeywordForm::kFlag:
      return value.is_boolean() ? Status::Ok() : Refuse(place, "must be true or false");
    case KeywordForm::kNames:
      return IsTextList(value) ? Status::Ok() : Refuse(place, "must be a list of names");
    case KeywordForm::kPattern:
      if (!value.is_string()) return Refuse(place, "must be a string");
      return AddPattern(value.get_ref<const std::string&>(), place);
    default:
      return Status::Ok();
  }
}

void SchemaReader::EnqueueList(const json& list, const Place& place) {
  const size_t parent = Keep(place);
  for (size_t i = 0; i < list.size(); ++i) Enqueue(list[i], {parent, {}, i});
}

Status SchemaReader::ReadSchemaMap(KeywordForm form, const json& map, const Place& place) {
  if (!map.is_object()) return Refuse(place, "must be an object");
  const size_t parent = Keep(place);
  for (auto member = map.begin(); member != map.end(); ++member) {
    const Place inner{parent, member.key()};
    const bool is_list = form == KeywordForm::kNameLists ||
                         (form == KeywordForm::kDependencies && member->is_array());
    if (is_list) {
      if (!IsTextList(*member)) return Refuse(inner, "must be a list of names");
      continue;
    }
    if (form == KeywordForm::kPatternMap) {
      AG_RETURN_IF_ERROR(AddPattern(member.key(), inner));
    }
    Enqueue(*member, inner);
  }
  return Status::Ok();
}

Status SchemaReader::ReadReference(const json& value, const Place& place) {
  if (!value.is_string()) return Refuse(place, "must be a string");
  const auto& reference = value.get_ref<const std::string&>();
  // References to other documents, and to anchors in this one, are not resolved.
  if (reference != "#" && !reference.starts_with("#/")) return Status::Ok();
  if (schema_.references_.contains(reference)) return Status::Ok();
  const json* target = Resolve(*schema_.root_, reference);
  if (target == nullptr) return Refuse(place, "there is no " + reference);
  schema_.references_.emplace(reference, target);
  Enqueue(*target, {kRoot, reference});
  return Status::Ok();
}

// Patterns of another dialect are not checked.
Status SchemaReader::AddPattern(const std::string& text, const Place& place) {
  if (schema_.patterns_.contains(text)) return Status::Ok();
  if (++patterns_ > kPatternsMax) {
    return Refuse(place, "more than " + std::to_string(kPatternsMax) + " patterns");
  }
  auto pattern = Pattern::Compile(text);
  if (pattern == nullptr) return Status::Ok();
  pattern_bytes_ += pattern->compiled_bytes();
  if (pattern_bytes_ > kPatternBytesInAllMax) return Refuse(place, "the patterns are too large");
  schema_.patterns_.emplace(text, std::move(pattern));
  return Status::Ok();
}

}  // namespace agent_graph::tools
