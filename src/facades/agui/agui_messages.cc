// Reads the messages of a request.
#include "facades/agui/agui_messages.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/text.h"
#include "facades/run/attachments.h"
#include "facades/run/body_members.h"
#include "facades/run/signed_reasoning.h"

namespace agent_graph::agui {
namespace {

using api::FindMember;
using api::Problems;
using api::ProblemType;
using facades::Below;
using facades::Location;
using facades::TextOf;

std::optional<MediaBlock::Type> MediaTypeOf(std::string_view type, std::string_view mime_type) {
  using Type = MediaBlock::Type;
  if (type == "binary") type = mime_type.substr(0, mime_type.find('/'));
  if (type == "image") return Type::kImage;
  if (type == "audio") return Type::kAudio;
  if (type == "video") return Type::kVideo;
  if (type == "text") return std::nullopt;
  return Type::kDocument;
}

constexpr std::array<std::string_view, 6> kPartTypes = {"text",  "image",    "audio",
                                                        "video", "document", "binary"};

// Reads one message of the request.
class MessageReader {
 public:
  // The images and files of a result are added to `attachments`.
  MessageReader(const json& message, Location location, const api::MessageLimits& limits,
                Message& attachments, Problems& problems)
      : source_(message),
        location_(std::move(location)),
        limits_(limits),
        attachments_(attachments),
        problems_(problems) {}

  Message Read() {
    const std::string_view role = TextOf(source_, "role");
    ReadId();
    if (role == "tool") {
      ReadResult();
    } else if (role == "assistant") {
      message_.role = Role::kAssistant;
      ReadText(false);
      ReadCalls();
    } else {
      message_.role = role == "user" ? Role::kUser : Role::kSystem;
      ReadContent();
      ReadMetadata();
    }
    return std::move(message_);
  }

 private:
  void AddProblem(const Location& place, std::string text, ProblemType type) {
    problems_.Add(place, std::move(text), type);
  }

  // A blank id counts as none. The thread cannot keep some others: it would give the message
  // another id, under which a repeated request would not find it.
  void ReadId() {
    message_.id = TextOf(source_, "id");
    if (IsBlank(message_.id)) message_.id.clear();
    if (message_.id.empty()) return;
    if (std::optional<std::string> problem = api::MessageIdProblem(message_.id)) {
      AddProblem(Below(location_, "id"), *std::move(problem), ProblemType::kValue);
    }
  }

  const json* Content() {
    const json* content = FindMember(source_, "content");
    if (content == nullptr) {
      AddProblem(Below(location_, "content"), "is required", ProblemType::kMissing);
    }
    return content;
  }

  void ReadText(bool required) {
    const json* content = required ? Content() : FindMember(source_, "content");
    if (content == nullptr) return;
    if (!content->is_string()) {
      return AddProblem(Below(location_, "content"), "must be a string", ProblemType::kStringType);
    }
    const auto& text = content->get_ref<const std::string&>();
    if (!text.empty()) message_.content.emplace_back(TextBlock{.text = text});
  }

  void ReadContent() {
    const json* content = Content();
    if (content == nullptr) return;
    if (content->is_string()) {
      message_.content.emplace_back(TextBlock{.text = content->get<std::string>()});
    } else if (content->is_array()) {
      for (size_t i = 0; i < content->size(); ++i) {
        ReadPart((*content)[i], Below(Below(location_, "content"), std::to_string(i)));
      }
    } else {
      AddProblem(Below(location_, "content"), "must be a string or an array of parts",
                 ProblemType::kValue);
    }
  }

  void ReadPart(const json& part, const Location& place) {
    if (!part.is_object()) {
      return AddProblem(place, "must be an object", ProblemType::kObjectType);
    }
    const std::string_view type = TextOf(part, "type");
    if (std::ranges::find(kPartTypes, type) == kPartTypes.end()) {
      return AddProblem(Below(place, "type"), "must be one of text, image, audio, video, document",
                        ProblemType::kChoice);
    }
    if (type == "text") {
      const json* text = FindMember(part, "text");
      if (text == nullptr || !text->is_string()) {
        return AddProblem(Below(place, "text"), "must be a string", ProblemType::kStringType);
      }
      message_.content.emplace_back(TextBlock{.text = text->get<std::string>()});
    } else if (message_.role != Role::kUser && message_.role != Role::kTool) {
      AddProblem(Below(place, "type"), "must be text in a message of this role",
                 ProblemType::kChoice);
    } else {
      ReadMedia(part, type, place);
    }
  }

  void ReadMedia(const json& part, std::string_view type, const Location& place) {
    const bool is_legacy = type == "binary";
    const json* source = is_legacy ? &part : FindMember(part, "source");
    if (source == nullptr || !source->is_object()) {
      return AddProblem(Below(place, "source"), "must be an object", ProblemType::kObjectType);
    }
    MediaBlock block;
    block.media.mime_type = TextOf(*source, "mimeType");
    block.media.filename = TextOf(*source, "filename");
    block.type = MediaTypeOf(type, block.media.mime_type).value_or(MediaBlock::Type::kDocument);
    const bool is_read = is_legacy ? ReadLegacySource(part, place, block.media)
                                   : ReadSource(*source, Below(place, "source"), block.media);
    if (is_read) message_.content.emplace_back(std::move(block));
  }

  bool ReadSource(const json& source, const Location& place, MediaReference& media) {
    const std::string_view type = TextOf(source, "type");
    const json* value = FindMember(source, "value");
    if (value == nullptr || !value->is_string()) {
      AddProblem(Below(place, "value"), "must be a string", ProblemType::kStringType);
      return false;
    }
    const auto& text = value->get_ref<const std::string&>();
    if (type == "url") return TakeUrl(text, Below(place, "value"), media);
    if (type == "file") {
      media.kind = MediaReference::Kind::kFileId;
      media.file_id = text;
      return true;
    }
    if (type != "data") {
      AddProblem(Below(place, "type"), "must be one of data, url, file", ProblemType::kChoice);
      return false;
    }
    media.kind = MediaReference::Kind::kData;
    media.data_base64 = text;
    return true;
  }

  // Parts of the type `binary`, as clients before 1.0 send them.
  bool ReadLegacySource(const json& part, const Location& place, MediaReference& media) {
    if (const std::string_view id = TextOf(part, "id"); !id.empty()) {
      media.kind = MediaReference::Kind::kFileId;
      media.file_id = id;
      return true;
    }
    if (const std::string_view url = TextOf(part, "url"); !url.empty()) {
      return TakeUrl(url, Below(place, "url"), media);
    }
    const std::string_view data = TextOf(part, "data");
    if (data.empty()) {
      AddProblem(place, "needs data, url or id", ProblemType::kMissing);
      return false;
    }
    media.kind = MediaReference::Kind::kData;
    media.data_base64 = data;
    return true;
  }

  bool TakeUrl(std::string_view url, const Location& place, MediaReference& media) {
    if (const std::optional<std::string> fault = limits_.media_urls.Fault(url)) {
      AddProblem(place, *fault, ProblemType::kValue);
      return false;
    }
    media.url = url;
    return true;
  }

  void ReadMetadata() {
    const json* metadata = FindMember(source_, "metadata");
    json kept = metadata != nullptr ? *metadata : json::object();
    if (const std::string_view name = TextOf(source_, "name"); !name.empty()) kept["name"] = name;
    if (!kept.empty()) message_.metadata_json = DumpJson(kept);
  }

  void ReadCalls() {
    const json* calls = FindMember(source_, "toolCalls");
    if (calls == nullptr) return;
    for (size_t i = 0; i < calls->size(); ++i) {
      const json& function = (*calls)[i].at("function");
      const std::string_view text = TextOf(function, "arguments");
      const Result<json> parsed = ParseJson(text.empty() ? "{}" : text);
      if (!parsed.ok() || !parsed->is_object()) {
        Location place = Below(Below(location_, "toolCalls"), std::to_string(i));
        AddProblem(Below(Below(place, "function"), "arguments"),
                   "must be the text of a JSON object", ProblemType::kJsonSyntax);
        continue;
      }
      ToolCallBlock block;
      block.id = TextOf((*calls)[i], "id");
      block.name = TextOf(function, "name");
      block.arguments_json = DumpJson(*parsed);
      message_.content.emplace_back(std::move(block));
    }
  }

  // A result is JSON for the model: its images and files become attachments.
  void ReadResult() {
    message_.role = Role::kTool;
    ToolResultBlock result;
    result.call_id = TextOf(source_, "toolCallId");
    if (result.call_id.empty()) {
      AddProblem(Below(location_, "toolCallId"), "is required", ProblemType::kMissing);
    }
    ReadContent();
    std::string text = facades::TakeResultText(result.call_id, message_, attachments_);
    message_.content.clear();
    if (const std::string_view error = TextOf(source_, "error"); !error.empty()) {
      result.is_error = true;
      if (text.empty()) text = error;
    }
    result.output_json.clear();
    AppendJsonString(result.output_json, text);
    message_.content.emplace_back(std::move(result));
  }

  const json& source_;
  const Location location_;
  const api::MessageLimits& limits_;
  Message& attachments_;
  Problems& problems_;
  Message message_;
};

void TakeReasoning(const json& source, std::optional<ReasoningBlock>& reasoning) {
  if (!reasoning) reasoning.emplace();
  reasoning->summary += TextOf(source, "content");
  if (const std::string_view signature = TextOf(source, "encryptedValue"); !signature.empty()) {
    reasoning->signature = signature;
  }
}

}  // namespace

std::vector<Message> ReadMessages(const json& array, const std::vector<size_t>& indices,
                                  const api::MessageLimits& limits, Problems& problems) {
  std::vector<Message> messages;
  const Location path = {"body", "messages"};
  std::optional<ReasoningBlock> reasoning;  // belongs to the next answer
  facades::ReasoningSplitter splitter;
  Message attachments;  // of the results before
  size_t result = 0;    // index of the last result with attachments
  const auto check_size = [&](size_t i) {
    if (!limits.may_be_exceeded()) return;
    api::CheckMessageSize(messages.back(), path, i, limits.message_bytes_max, problems);
  };
  // Models take nothing between the results of parallel calls.
  const auto add_attachments = [&] {
    if (attachments.content.empty()) return;
    attachments.id = AttachmentsId(TextOf(array[result], "id"));
    messages.push_back(std::exchange(attachments, Message()));
    check_size(result);
  };
  for (const size_t i : indices) {
    const std::string_view role = TextOf(array[i], "role");
    if (role == "activity") continue;
    if (role == "reasoning") {
      TakeReasoning(array[i], reasoning);
      continue;
    }
    if (role != "tool") add_attachments();
    const size_t attached = attachments.content.size();
    MessageReader reader(array[i], Below(path, std::to_string(i)), limits, attachments, problems);
    messages.push_back(reader.Read());
    if (attachments.content.size() > attached) result = i;
    Message& message = messages.back();
    std::optional<ReasoningBlock> thought = std::exchange(reasoning, std::nullopt);
    if (thought && message.role == Role::kAssistant) {
      std::vector<ReasoningBlock> blocks = splitter.Split(*std::move(thought));
      message.content.insert(message.content.begin(), std::make_move_iterator(blocks.begin()),
                             std::make_move_iterator(blocks.end()));
    }
    check_size(i);
  }
  add_attachments();
  return messages;
}

std::vector<size_t> IndicesFrom(const json& array, size_t first) {
  std::vector<size_t> indices;
  for (size_t i = first; i < array.size(); ++i) indices.push_back(i);
  return indices;
}

size_t TailOf(const json& array) {
  for (size_t i = array.size(); i > 0; --i) {
    if (TextOf(array[i - 1], "role") == "assistant") return i;
  }
  return 0;
}

}  // namespace agent_graph::agui
