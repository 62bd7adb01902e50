#include <cmath>
#include <cstdint>
#include <set>
#include <string_view>

#include "agent_graph/json.h"
#include "base/json.h"
#include "message/reader.h"

namespace agent_graph::message {
namespace {

// The integer value of a number, also of 25.0; nullopt if it has a fraction or needs more than 64
// bits.
std::optional<int64_t> IntegerIn(const json& value) {
  constexpr double kBeyond = 9223372036854775808.0;  // 2^63
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    if (number > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
    return static_cast<int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<int64_t>();
  const double number = value.is_number() ? value.get<double>() : NAN;
  if (number >= -kBeyond && number < kBeyond && number == std::floor(number)) {
    return static_cast<int64_t>(number);
  }
  return std::nullopt;
}

Result<std::string> RequiredText(const json& object, const char* member,
                                 const std::string& location) {
  AG_ASSIGN_OR_RETURN(std::string text, OptionalText(object, member, location));
  if (text.empty()) return InvalidField(MemberLocation(location, member), "must not be empty");
  return text;
}

// The text of a member that must be there; it may be empty.
Result<std::string> PresentText(const json& object, const char* member,
                                const std::string& location) {
  if (FindMember(object, member) == nullptr) {
    return InvalidField(MemberLocation(location, member), "is required");
  }
  return OptionalText(object, member, location);
}

// Members of `object` other than `known`, as JSON text.
std::string OtherMembers(const json& object, const std::set<std::string_view>& known) {
  json extra = json::object();
  for (const auto& [key, value] : object.items()) {
    if (!known.contains(key)) extra[key] = value;
  }
  return extra.empty() ? "{}" : DumpJson(extra);
}

std::optional<MediaBlock::Type> ParseMediaType(std::string_view type) {
  if (type == "image") return MediaBlock::Type::kImage;
  if (type == "audio") return MediaBlock::Type::kAudio;
  if (type == "video") return MediaBlock::Type::kVideo;
  if (type == "document") return MediaBlock::Type::kDocument;
  return std::nullopt;
}

Status ReadMediaKind(const json& object, const std::string& location, MediaReference& media) {
  AG_ASSIGN_OR_RETURN(std::string kind, OptionalText(object, "kind", location));
  if (kind.empty()) {  // the flat form has no kind: it follows from the members
    kind = !media.file_id.empty() ? "file_id" : !media.data_base64.empty() ? "data" : "url";
  }
  const std::string* value = nullptr;
  if (kind == "url") {
    media.kind = MediaReference::Kind::kUrl;
    value = &media.url;
  } else if (kind == "file_id") {
    media.kind = MediaReference::Kind::kFileId;
    value = &media.file_id;
  } else if (kind == "data") {
    media.kind = MediaReference::Kind::kData;
    value = &media.data_base64;
  } else {
    return InvalidField(MemberLocation(location, "kind"), "must be one of url, file_id, data");
  }
  if (value->empty()) {
    const char* member = media.kind == MediaReference::Kind::kData ? "data_base64" : kind.c_str();
    return InvalidField(MemberLocation(location, member), "must not be empty");
  }
  return Status::Ok();
}

Result<MediaReference> ReadMedia(const json& object, const std::string& location) {
  MediaReference media;
  AG_ASSIGN_OR_RETURN(media.url, OptionalText(object, "url", location));
  AG_ASSIGN_OR_RETURN(media.file_id, OptionalText(object, "file_id", location));
  AG_ASSIGN_OR_RETURN(media.data_base64, OptionalText(object, "data_base64", location));
  AG_ASSIGN_OR_RETURN(media.mime_type, OptionalText(object, "mime_type", location));
  AG_ASSIGN_OR_RETURN(media.filename, OptionalText(object, "filename", location));
  AG_ASSIGN_OR_RETURN(media.size_bytes, OptionalInteger(object, "size_bytes", location));
  AG_RETURN_IF_ERROR(ReadMediaKind(object, location, media));
  return media;
}

// Nested {"media": {...}}, or flat {"file_id": ...} with the reference beside `type`.
Result<ContentBlock> ReadMediaBlock(MediaBlock::Type type, const json& value,
                                    const std::string& location) {
  const std::set<std::string_view> reference = {"kind",      "url",      "file_id",   "data_base64",
                                                "mime_type", "filename", "size_bytes"};
  MediaBlock block;
  block.type = type;
  if (const json* media = FindMember(value, "media")) {
    std::string media_location = MemberLocation(location, "media");
    if (!media->is_object()) return InvalidField(media_location, "must be an object");
    AG_ASSIGN_OR_RETURN(block.media, ReadMedia(*media, media_location));
    block.media.extra_json = OtherMembers(*media, reference);
    block.extra_json = OtherMembers(value, {"type", "media"});
    return ContentBlock(std::move(block));
  }
  if (!FindMember(value, "file_id") && !FindMember(value, "url") &&
      !FindMember(value, "data_base64")) {
    return InvalidField(MemberLocation(location, "media"), "is required");
  }
  AG_ASSIGN_OR_RETURN(block.media, ReadMedia(value, location));
  std::set<std::string_view> known = reference;
  known.insert({"type", "media"});
  block.extra_json = OtherMembers(value, known);
  return ContentBlock(std::move(block));
}

Result<ContentBlock> ReadText(const json& value, const std::string& location) {
  TextBlock block;
  AG_ASSIGN_OR_RETURN(block.text, PresentText(value, "text", location));
  if (const json* annotations = FindMember(value, "annotations")) {
    if (!annotations->is_array()) {
      return InvalidField(MemberLocation(location, "annotations"), "must be an array");
    }
    block.annotations_json = DumpJson(*annotations);
  }
  return ContentBlock(std::move(block));
}

Result<ContentBlock> ReadToolCall(const json& value, const std::string& location, bool remote) {
  ToolCallBlock block;
  block.remote = remote;
  AG_ASSIGN_OR_RETURN(block.id, RequiredText(value, "id", location));
  AG_ASSIGN_OR_RETURN(block.name, RequiredText(value, "name", location));
  if (const json* arguments = FindMember(value, "args")) {
    if (!arguments->is_object()) {
      return InvalidField(MemberLocation(location, "args"), "must be an object");
    }
    block.arguments_json = DumpJson(*arguments);
  }
  return ContentBlock(std::move(block));
}

Result<ContentBlock> ReadToolResult(const json& value, const std::string& location) {
  ToolResultBlock block;
  AG_ASSIGN_OR_RETURN(block.call_id, RequiredText(value, "call_id", location));
  if (const json* output = FindMember(value, "output")) block.output_json = DumpJson(*output);
  if (const json* is_error = FindMember(value, "is_error")) {
    if (!is_error->is_boolean()) {
      return InvalidField(MemberLocation(location, "is_error"), "must be true or false");
    }
    block.is_error = is_error->get<bool>();
  }
  // Some clients report a failure only by the status.
  AG_ASSIGN_OR_RETURN(std::string status, OptionalText(value, "status", location));
  if (status == "failed") block.is_error = true;
  return ContentBlock(std::move(block));
}

Result<ContentBlock> ReadReasoning(const json& value, const std::string& location) {
  ReasoningBlock block;
  AG_ASSIGN_OR_RETURN(block.summary, PresentText(value, "summary", location));
  AG_ASSIGN_OR_RETURN(block.signature, OptionalText(value, "signature", location));
  if (const json* details = FindMember(value, "details")) {
    std::string details_location = MemberLocation(location, "details");
    if (!details->is_array()) return InvalidField(details_location, "must be an array");
    for (const json& detail : *details) {
      if (!detail.is_string()) return InvalidField(details_location, "must hold strings only");
      block.details.push_back(detail.get<std::string>());
    }
  }
  return ContentBlock(std::move(block));
}

// Types of blocks that are kept as they came.
struct KeptType {
  std::string_view name;
  const char* required;  // member that must hold text; null: none
};
constexpr KeptType kKeptTypes[] = {
    {.name = "data", .required = "mime_type"},
    {.name = "annotation", .required = nullptr},
    {.name = "error", .required = "message"},
};

// Optional members of those blocks. Clients that trust the published schema cannot read others.
struct KeptMember {
  std::string_view type;
  const char* name;
  bool (json::*fits)() const noexcept;
  const char* need;
};
constexpr KeptMember kKeptMembers[] = {
    {"data", "data_base64", &json::is_string, "must be a string"},
    {"data", "media", &json::is_object, "must be an object"},
    {"annotation", "kind", &json::is_string, "must be a string"},
    {"annotation", "refs", &json::is_array, "must be an array"},
    {"annotation", "spans", &json::is_array, "must be an array"},
    {"error", "code", &json::is_string, "must be a string"},
    {"error", "data", &json::is_object, "must be an object"},
};

Result<ContentBlock> ReadKept(const KeptType& type, const json& value,
                              const std::string& location) {
  if (type.required != nullptr) {
    AG_RETURN_IF_ERROR(RequiredText(value, type.required, location).status());
  }
  for (const KeptMember& member : kKeptMembers) {
    const json* found = member.type == type.name ? FindMember(value, member.name) : nullptr;
    if (found != nullptr && !(found->*member.fits)()) {
      return InvalidField(MemberLocation(location, member.name), member.need);
    }
  }
  return ContentBlock(OtherBlock{std::string(type.name), DumpJson(value)});
}

Result<ContentBlock> ReadTyped(std::string_view type, const json& value,
                               const std::string& location) {
  if (type == "text") return ReadText(value, location);
  if (auto media = ParseMediaType(type)) return ReadMediaBlock(*media, value, location);
  if (type == "tool_call") return ReadToolCall(value, location, false);
  if (type == "remote_tool_call") return ReadToolCall(value, location, true);
  if (type == "tool_result") return ReadToolResult(value, location);
  if (type == "reasoning") return ReadReasoning(value, location);
  for (const KeptType& kept : kKeptTypes) {
    if (type == kept.name) return ReadKept(kept, value, location);
  }
  return InvalidField(MemberLocation(location, "type"),
                      "must be one of text, image, audio, video, document, data, tool_call, "
                      "remote_tool_call, tool_result, reasoning, annotation, error");
}

}  // namespace

const json* FindMember(const json& object, std::string_view member) {
  auto found = object.find(member);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string MemberLocation(const std::string& location, std::string_view member) {
  return location.empty() ? std::string(member) : location + "." + std::string(member);
}

Status InvalidField(const std::string& location, std::string_view problem) {
  return Status(StatusCode::kInvalidArgument, location + ": " + std::string(problem));
}

Result<std::string> OptionalText(const json& object, const char* member,
                                 const std::string& location) {
  const json* value = FindMember(object, member);
  if (value == nullptr) return std::string();
  if (!value->is_string()) {
    return InvalidField(MemberLocation(location, member), "must be a string");
  }
  return value->get<std::string>();
}

Result<std::optional<int64_t>> OptionalInteger(const json& object, const char* member,
                                               const std::string& location) {
  const json* value = FindMember(object, member);
  if (value == nullptr) return std::optional<int64_t>();
  const std::optional<int64_t> number = IntegerIn(*value);
  if (!number) return InvalidField(MemberLocation(location, member), "must be an integer");
  return number;
}

Result<ContentBlock> ReadBlock(const json& value, const std::string& location, ReadMode mode) {
  if (!value.is_object()) return InvalidField(location, "must be an object");
  AG_ASSIGN_OR_RETURN(std::string type, RequiredText(value, "type", location));
  auto block = ReadTyped(type, value, location);
  if (!block.ok() && mode == ReadMode::kStored) {
    return ContentBlock(OtherBlock{std::string(type), DumpJson(value)});
  }
  return block;
}

}  // namespace agent_graph::message
