#include "facades/openai/chat_messages.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "facades/openai/media_parts.h"
#include "message/texts.h"

namespace agent_graph::openai {
namespace {

using api::FindMember;
using api::Problems;
using api::ProblemType;

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
    if (message_.role == Role::kAssistant) {
      ReadRefusal();
      ReadCalls();
    }
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

  void Add(std::optional<MediaBlock> block) {
    if (block) message_.content.emplace_back(*std::move(block));
  }

  void ReadImage(const json& part, const Location& place) {
    const json* image = Inner(part, "image_url", place);
    if (image == nullptr) return;
    const Location inner = Below(place, "image_url");
    const std::string* url = RequiredText(*image, "url", inner, problems_);
    if (url != nullptr)
      Add(ReadMediaUrl(*url, MediaBlock::Type::kImage, Below(inner, "url"), limits_, problems_));
  }

  void ReadAudio(const json& part, const Location& place) {
    const json* audio = Inner(part, "input_audio", place);
    if (audio != nullptr) Add(ReadAudioPart(*audio, Below(place, "input_audio"), problems_));
  }

  // A file is inline, or one that was uploaded to this service.
  void ReadFile(const json& part, const Location& place) {
    const json* file = Inner(part, "file", place);
    if (file != nullptr) Add(ReadFilePart(*file, Below(place, "file"), problems_));
  }

  // The text of an assistant that has refused, in place of its content.
  void ReadRefusal() {
    const std::string* refusal = TextMember(source_, "refusal", location_, problems_);
    if (refusal != nullptr) message_.content.emplace_back(TextBlock{.text = *refusal});
  }

  void ReadCalls() {
    const json* calls = FindMember(source_, "tool_calls");
    if (calls == nullptr) return;
    for (const json& call : *calls) {
      const json& function = call.at("function");
      ToolCallBlock block;
      block.id = call.at("id").get<std::string>();
      block.name = function.at("name").get<std::string>();
      const json* arguments = FindMember(function, "arguments");
      const std::string text = arguments != nullptr ? arguments->get<std::string>() : "";
      block.arguments_json = ReadArguments(text);
      message_.content.emplace_back(std::move(block));
    }
  }

  void ReadToolResult() {
    message_.role = Role::kTool;
    const std::string* id = RequiredText(source_, "tool_call_id", location_, problems_);
    ReadContent();
    if (id == nullptr) return;
    ToolResultBlock result;
    result.call_id = *id;
    result.output_json.clear();
    AppendJsonString(result.output_json, message::JoinedTexts(message_));
    message_.content.clear();
    message_.content.emplace_back(std::move(result));
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
    if (limits.may_be_exceeded()) {
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
