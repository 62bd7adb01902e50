#include "facades/openai/chat_messages.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/letter_case.h"

namespace agent_graph::openai {
namespace {

using api::FindMember;
using api::Problems;
using api::ProblemType;
using Location = std::vector<std::string>;

Location Below(const Location& location, std::string_view member) {
  Location below = location;
  below.emplace_back(member);
  return below;
}

// Returns a text member, or null. A member of another type is a problem.
const std::string* TextMember(const json& object, const char* name, const Location& location,
                              Problems& problems) {
  const json* member = FindMember(object, name);
  if (member == nullptr) return nullptr;
  if (member->is_string()) return &member->get_ref<const std::string&>();
  problems.Add(Below(location, name), "must be a string", ProblemType::kStringType);
  return nullptr;
}

const std::string* RequiredText(const json& object, const char* name, const Location& location,
                                Problems& problems) {
  const std::string* text = TextMember(object, name, location, problems);
  if (text == nullptr && FindMember(object, name) == nullptr) {
    problems.Add(Below(location, name), "is required", ProblemType::kMissing);
  }
  return text;
}

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

// One message of the request.
class MessageReader {
 public:
  MessageReader(const json& message, Location location, const api::MessageLimits& limits,
                Problems& problems)
      : source_(message), location_(std::move(location)), limits_(limits), problems_(problems) {}

  Message Read() {
    const std::string& role = source_.at("role").get_ref<const std::string&>();
    if (role == "tool") {
      ReadToolResult();
      return std::move(message_);
    }
    message_.role = role == "user"        ? Role::kUser
                    : role == "assistant" ? Role::kAssistant
                                          : Role::kSystem;
    ReadContent();
    if (message_.role == Role::kAssistant) ReadCalls();
    return std::move(message_);
  }

 private:
  const json* Content() {
    const json* content = FindMember(source_, "content");
    if (content != nullptr && !content->is_string() && !content->is_array()) {
      problems_.Add(Below(location_, "content"), "must be a string or an array of parts",
                    ProblemType::kValue);
      return nullptr;
    }
    if (content == nullptr && message_.role != Role::kAssistant) {
      problems_.Add(Below(location_, "content"), "is required", ProblemType::kMissing);
    }
    return content;
  }

  void ReadContent() {
    const json* content = Content();
    if (content == nullptr) return;
    if (content->is_string()) {
      message_.content.emplace_back(TextBlock{.text = content->get<std::string>()});
      return;
    }
    for (size_t i = 0; i < content->size(); ++i) {
      ReadPart((*content)[i], Below(Below(location_, "content"), std::to_string(i)));
    }
  }

  void ReadPart(const json& part, const Location& place) {
    if (!part.is_object()) {
      problems_.Add(place, "must be an object", ProblemType::kObjectType);
      return;
    }
    const std::string* type = RequiredText(part, "type", place, problems_);
    if (type == nullptr) return;
    if (*type == "text" || *type == "refusal") {
      const std::string* text = RequiredText(part, type->c_str(), place, problems_);
      if (text != nullptr) message_.content.emplace_back(TextBlock{.text = *text});
    } else if (message_.role != Role::kUser) {
      problems_.Add(Below(place, "type"), "must be text in a message of this role",
                    ProblemType::kChoice);
    } else if (*type == "image_url") {
      ReadImage(part, place);
    } else if (*type == "input_audio") {
      ReadAudio(part, place);
    } else if (*type == "file") {
      ReadFile(part, place);
    } else {
      problems_.Add(Below(place, "type"), "must be one of text, image_url, input_audio, file",
                    ProblemType::kChoice);
    }
  }

  // Returns the object that has the name of the part's type, or null.
  const json* Inner(const json& part, const char* name, const Location& place) {
    const json* inner = FindMember(part, name);
    if (inner != nullptr && inner->is_object()) return inner;
    problems_.Add(Below(place, name), inner == nullptr ? "is required" : "must be an object",
                  inner == nullptr ? ProblemType::kMissing : ProblemType::kObjectType);
    return nullptr;
  }

  void ReadImage(const json& part, const Location& place) {
    const json* image = Inner(part, "image_url", place);
    if (image == nullptr) return;
    const Location inner = Below(place, "image_url");
    const std::string* url = RequiredText(*image, "url", inner, problems_);
    if (url == nullptr) return;
    MediaBlock block;
    block.type = MediaBlock::Type::kImage;
    if (IsDataUrl(*url)) {
      if (!ReadDataUrl(*url, block.media)) return AddDataProblem(Below(inner, "url"));
    } else if (const std::optional<std::string> fault = limits_.media_urls.Fault(*url)) {
      problems_.Add(Below(inner, "url"), *fault, ProblemType::kValue);
      return;
    } else {
      block.media.url = *url;
    }
    message_.content.emplace_back(std::move(block));
  }

  void ReadAudio(const json& part, const Location& place) {
    const json* audio = Inner(part, "input_audio", place);
    if (audio == nullptr) return;
    const Location inner = Below(place, "input_audio");
    const std::string* data = RequiredText(*audio, "data", inner, problems_);
    const std::string* format = RequiredText(*audio, "format", inner, problems_);
    if (data == nullptr || format == nullptr) return;
    if (!IsBase64(*data)) return AddDataProblem(Below(inner, "data"));
    MediaBlock block;
    block.type = MediaBlock::Type::kAudio;
    block.media.kind = MediaReference::Kind::kData;
    block.media.data_base64 = *data;
    block.media.mime_type = "audio/" + (*format == "mp3" ? "mpeg" : *format);
    message_.content.emplace_back(std::move(block));
  }

  // A file is inline, or one that was uploaded to this service.
  void ReadFile(const json& part, const Location& place) {
    const json* file = Inner(part, "file", place);
    if (file == nullptr) return;
    const Location inner = Below(place, "file");
    MediaBlock block;
    block.type = MediaBlock::Type::kDocument;
    if (const std::string* name = TextMember(*file, "filename", inner, problems_)) {
      block.media.filename = *name;
    }
    if (const std::string* id = TextMember(*file, "file_id", inner, problems_)) {
      block.media.kind = MediaReference::Kind::kFileId;
      block.media.file_id = *id;
    } else {
      const std::string* data = RequiredText(*file, "file_data", inner, problems_);
      if (data == nullptr) return;
      if (IsDataUrl(*data)) {
        if (!ReadDataUrl(*data, block.media)) return AddDataProblem(Below(inner, "file_data"));
      } else if (IsBase64(*data)) {
        block.media.kind = MediaReference::Kind::kData;
        block.media.data_base64 = *data;
        block.media.mime_type = "application/pdf";  // as OpenAI's API takes it
      } else {
        return AddDataProblem(Below(inner, "file_data"));
      }
    }
    message_.content.emplace_back(std::move(block));
  }

  void AddDataProblem(const Location& place) {
    problems_.Add(place, "must be base64, or a data URL with base64", ProblemType::kValue);
  }

  void ReadCalls() {
    const json* calls = FindMember(source_, "tool_calls");
    if (calls == nullptr) return;
    for (size_t i = 0; i < calls->size(); ++i) {
      const json& call = (*calls)[i];
      const json& function = call.at("function");
      ToolCallBlock block;
      block.id = call.at("id").get<std::string>();
      block.name = function.at("name").get<std::string>();
      const json* arguments = FindMember(function, "arguments");
      const std::string text = arguments != nullptr ? arguments->get<std::string>() : "";
      const Result<json> parsed = ParseJson(text.empty() ? "{}" : text);
      if (!parsed.ok() || !parsed->is_object()) {
        problems_.Add(
            Below(Below(Below(Below(location_, "tool_calls"), std::to_string(i)), "function"),
                  "arguments"),
            "must be the text of a JSON object", ProblemType::kJsonSyntax);
        continue;
      }
      block.arguments_json = DumpJson(*parsed);
      message_.content.emplace_back(std::move(block));
    }
  }

  void ReadToolResult() {
    message_.role = Role::kTool;
    const std::string* id = RequiredText(source_, "tool_call_id", location_, problems_);
    const json* content = Content();
    if (id == nullptr || content == nullptr) return;
    ToolResultBlock result;
    result.call_id = *id;
    result.output_json.clear();
    AppendJsonString(result.output_json, TextOf(*content));
    message_.content.emplace_back(std::move(result));
  }

  // The text of a tool's result.
  std::string TextOf(const json& content) {
    if (content.is_string()) return content.get<std::string>();
    Message parts;
    std::swap(parts, message_);
    ReadContent();
    std::swap(parts, message_);
    return parts.Text();
  }

  const json& source_;
  const Location location_;
  const api::MessageLimits& limits_;
  Problems& problems_;
  Message message_;
};

}  // namespace

std::vector<Message> ReadChatMessages(const json& array, size_t first,
                                      const api::MessageLimits& limits, Problems& problems) {
  std::vector<Message> messages;
  messages.reserve(array.size() - std::min(first, array.size()));
  const Location path = {"body", "messages"};
  for (size_t i = first; i < array.size(); ++i) {
    MessageReader reader(array[i], Below(path, std::to_string(i)), limits, problems);
    messages.push_back(reader.Read());
    if (limits.body_bytes > limits.message_bytes_max) {
      api::CheckMessageSize(messages.back(), path, i, limits.message_bytes_max, problems);
    }
  }
  return messages;
}

size_t TailOf(const json& array) {
  for (size_t i = array.size(); i > 0; --i) {
    if (array[i - 1].at("role") == "assistant") return i;
  }
  return 0;
}

}  // namespace agent_graph::openai
