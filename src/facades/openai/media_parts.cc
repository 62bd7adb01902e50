#include "facades/openai/media_parts.h"

#include <algorithm>
#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/letter_case.h"
#include "message/broken_arguments.h"

namespace agent_graph::openai {
namespace {

bool IsBase64(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/' || c == '=';
  });
}

// Sets type and data of a reference from "data:image/png;base64,…". Returns false for a URL of
// another form.
bool ReadDataUrl(std::string_view url, MediaReference& media) {
  constexpr std::string_view kBase64 = ";base64";
  const size_t comma = url.find(',');
  if (comma == std::string_view::npos) return false;
  std::string_view type = url.substr(5, comma - 5);
  if (!type.ends_with(kBase64)) return false;
  type.remove_suffix(kBase64.size());
  const std::string_view data = url.substr(comma + 1);
  if (!IsBase64(data)) return false;
  media.kind = MediaReference::Kind::kData;
  media.mime_type = type.substr(0, type.find(';'));
  media.data_base64 = data;
  return true;
}

bool IsDataUrl(std::string_view url) {
  return StartsWithIgnoringCase(url, "data:");
}

void AddDataProblem(const Location& place, api::Problems& problems) {
  problems.Add(place, "must be base64, or a data URL with base64", api::ProblemType::kValue);
}

}  // namespace

// Returns a text member, or null. A member of another type is a problem.
const std::string* TextMember(const json& object, const char* name, const Location& location,
                              api::Problems& problems) {
  const json* member = api::FindMember(object, name);
  if (member == nullptr) return nullptr;
  if (member->is_string()) return &member->get_ref<const std::string&>();
  problems.Add(Below(location, name), "must be a string", api::ProblemType::kStringType);
  return nullptr;
}

const std::string* RequiredText(const json& object, const char* name, const Location& location,
                                api::Problems& problems) {
  const std::string* text = TextMember(object, name, location, problems);
  if (text == nullptr && api::FindMember(object, name) == nullptr) {
    problems.Add(Below(location, name), "is required", api::ProblemType::kMissing);
  }
  return text;
}

std::optional<MediaBlock> ReadMediaUrl(const std::string& url, MediaBlock::Type type,
                                       const Location& place, const api::MessageLimits& limits,
                                       api::Problems& problems) {
  MediaBlock block;
  block.type = type;
  if (IsDataUrl(url)) {
    if (ReadDataUrl(url, block.media)) return block;
    AddDataProblem(place, problems);
    return std::nullopt;
  }
  if (const std::optional<std::string> fault = limits.media_urls.Fault(url)) {
    problems.Add(place, *fault, api::ProblemType::kValue);
    return std::nullopt;
  }
  block.media.url = url;
  return block;
}

std::optional<MediaBlock> ReadAudioPart(const json& audio, const Location& place,
                                        api::Problems& problems) {
  const std::string* data = RequiredText(audio, "data", place, problems);
  const std::string* format = RequiredText(audio, "format", place, problems);
  if (data == nullptr || format == nullptr) return std::nullopt;
  if (!IsBase64(*data)) {
    AddDataProblem(Below(place, "data"), problems);
    return std::nullopt;
  }
  MediaBlock block;
  block.type = MediaBlock::Type::kAudio;
  block.media.kind = MediaReference::Kind::kData;
  block.media.data_base64 = *data;
  block.media.mime_type = "audio/" + (*format == "mp3" ? "mpeg" : *format);
  return block;
}

std::optional<MediaBlock> ReadFilePart(const json& file, const Location& place,
                                       api::Problems& problems) {
  MediaBlock block;
  block.type = MediaBlock::Type::kDocument;
  if (const std::string* name = TextMember(file, "filename", place, problems)) {
    block.media.filename = *name;
  }
  if (const std::string* id = TextMember(file, "file_id", place, problems)) {
    block.media.kind = MediaReference::Kind::kFileId;
    block.media.file_id = *id;
    return block;
  }
  const std::string* data = RequiredText(file, "file_data", place, problems);
  if (data == nullptr) return std::nullopt;
  if (IsDataUrl(*data) && ReadDataUrl(*data, block.media)) return block;
  if (IsDataUrl(*data) || !IsBase64(*data)) {
    AddDataProblem(Below(place, "file_data"), problems);
    return std::nullopt;
  }
  block.media.kind = MediaReference::Kind::kData;
  block.media.data_base64 = *data;
  block.media.mime_type = "application/pdf";  // as OpenAI's API takes it
  return block;
}

std::string ReadArguments(const std::string& text) {
  const Result<json> parsed = ParseJson(text.empty() ? "{}" : text);
  const bool is_object = parsed.ok() && parsed->is_object();
  return is_object ? DumpJson(*parsed) : message::BrokenArguments(text);
}

}  // namespace agent_graph::openai
