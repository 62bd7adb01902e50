#include "facades/openai/input_items.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "facades/openai/media_parts.h"
#include "facades/run/attachments.h"
#include "facades/run/signed_reasoning.h"

namespace agent_graph::openai {
namespace {

constexpr std::string_view kPartTypes =
    "must be one of input_text, output_text, input_image, input_file, input_audio";
constexpr std::string_view kItemTypes =
    "must be one of message, function_call, function_call_output, reasoning, item_reference";

// Each reference is a read of the state.
constexpr size_t kReferencesMax = 1000;

class InputReader {
 public:
  InputReader(const api::MessageLimits& limits, const StoredMessageLookup& find_message,
              api::Problems& problems)
      : limits_(limits), find_message_(find_message), problems_(problems) {}

  // `items` is an array.
  std::vector<Message> Read(const json& items, const Location& place) {
    for (size_t i = 0; i < items.size(); ++i) {
      ReadItem(items[i], Below(place, std::to_string(i)));
      first_items_.resize(messages_.size(), i);
    }
    AddAttachments();
    first_items_.resize(messages_.size(), items.size() - 1);
    CheckSizes(place);
    std::erase_if(messages_, [](const Message& message) { return message.content.empty(); });
    return std::move(messages_);
  }

 private:
  // Checks each message once, when it is complete: many items may belong to it. The problem names
  // the first of them. A small body may refer to large stored messages.
  void CheckSizes(const Location& place) {
    if (!limits_.may_be_exceeded() && references_ == 0) return;
    for (size_t i = 0; i < messages_.size(); ++i) {
      api::CheckMessageSize(messages_[i], place, first_items_[i], limits_.message_bytes_max,
                            problems_);
    }
  }

  void ReadItem(const json& item, const Location& place) {
    if (!item.is_object()) {
      problems_.Add(place, "must be an object", api::ProblemType::kObjectType);
      return;
    }
    const std::string* named = TextMember(item, "type", place, problems_);
    const std::string_view type = named != nullptr ? std::string_view(*named) : UnnamedType(item);
    if (type != "function_call_output") AddAttachments();
    if (type == "message") {
      ReadMessage(item, place);
    } else if (type == "function_call") {
      ReadCall(item, place);
    } else if (type == "function_call_output") {
      ReadResult(item, place);
    } else if (type == "reasoning") {
      ReadReasoning(item, place);
    } else if (type == "item_reference") {
      ReadReference(item, place);
    } else {
      problems_.Add(Below(place, "type"), std::string(kItemTypes), api::ProblemType::kChoice);
    }
  }

  // Messages and references may lack a type, or have null. A reference has nothing but its id.
  static std::string_view UnnamedType(const json& item) {
    const size_t members = item.size() - item.count("type");
    return members == 1 && item.contains("id") ? "item_reference" : "message";
  }

  // The message to which a further item of the assistant belongs.
  Message& Answer(bool begins_text) {
    const bool continues = !messages_.empty() && messages_.back().role == Role::kAssistant &&
                           !(begins_text && answer_has_text_);
    if (!continues) {
      messages_.emplace_back().role = Role::kAssistant;
      answer_has_text_ = false;
    }
    return messages_.back();
  }

  void AddToAnswer(Message& answer, ContentBlock block) {
    answer_has_text_ = answer_has_text_ || std::holds_alternative<TextBlock>(block);
    answer.content.push_back(std::move(block));
  }

  void ReadMessage(const json& item, const Location& place) {
    const std::string* role = RequiredText(item, "role", place, problems_);
    if (role == nullptr) return;
    Message read;
    if (*role == "user") {
      read.role = Role::kUser;
    } else if (*role == "assistant") {
      read.role = Role::kAssistant;
    } else if (*role == "system" || *role == "developer") {
      read.role = Role::kSystem;
    } else {
      problems_.Add(Below(place, "role"), "must be one of user, assistant, system, developer",
                    api::ProblemType::kChoice);
      return;
    }
    ReadContent(item, "content", place, read);
    if (read.role != Role::kAssistant) {
      messages_.push_back(std::move(read));
      return;
    }
    Message& answer = Answer(true);
    for (ContentBlock& block : read.content) AddToAnswer(answer, std::move(block));
  }

  void ReadContent(const json& item, const char* member, const Location& place, Message& out) {
    const json* content = api::FindMember(item, member);
    if (content == nullptr || !(content->is_string() || content->is_array())) {
      problems_.Add(Below(place, member),
                    content == nullptr ? "is required" : "must be a string or an array of parts",
                    content == nullptr ? api::ProblemType::kMissing : api::ProblemType::kValue);
      return;
    }
    if (content->is_string()) {
      out.content.emplace_back(TextBlock{.text = content->get<std::string>()});
      return;
    }
    for (size_t i = 0; i < content->size(); ++i) {
      ReadPart((*content)[i], Below(Below(place, member), std::to_string(i)), out);
    }
  }

  void ReadPart(const json& part, const Location& place, Message& out) {
    if (!part.is_object()) {
      problems_.Add(place, "must be an object", api::ProblemType::kObjectType);
      return;
    }
    const std::string* type = RequiredText(part, "type", place, problems_);
    if (type == nullptr) return;
    if (*type == "input_text" || *type == "output_text" || *type == "text") {
      const std::string* text = RequiredText(part, "text", place, problems_);
      if (text != nullptr) out.content.emplace_back(TextBlock{.text = *text});
    } else if (*type == "refusal") {
      const std::string* text = RequiredText(part, "refusal", place, problems_);
      if (text != nullptr) out.content.emplace_back(TextBlock{.text = *text});
    } else if (out.role != Role::kUser && out.role != Role::kTool) {
      problems_.Add(Below(place, "type"), "must be text in a message of this role",
                    api::ProblemType::kChoice);
    } else if (std::optional<MediaBlock> media = ReadMedia(part, *type, place)) {
      out.content.emplace_back(*std::move(media));
    }
  }

  std::optional<MediaBlock> ReadMedia(const json& part, std::string_view type,
                                      const Location& place) {
    using Type = MediaBlock::Type;
    if (type == "input_image") {
      const std::string* url = TextMember(part, "image_url", place, problems_);
      if (url != nullptr) {
        return ReadMediaUrl(*url, Type::kImage, Below(place, "image_url"), limits_, problems_);
      }
      const std::string* id = TextMember(part, "file_id", place, problems_);
      if (id != nullptr) return UploadedFile(*id, Type::kImage);
      problems_.Add(Below(place, "image_url"), "is required", api::ProblemType::kMissing);
    } else if (type == "input_file") {
      const std::string* url = TextMember(part, "file_url", place, problems_);
      if (url == nullptr) return ReadFilePart(part, place, problems_);
      return ReadMediaUrl(*url, Type::kDocument, Below(place, "file_url"), limits_, problems_);
    } else if (type == "input_audio") {
      const json* audio = api::FindMember(part, "input_audio");
      if (audio != nullptr && audio->is_object()) {
        return ReadAudioPart(*audio, Below(place, "input_audio"), problems_);
      }
      problems_.Add(Below(place, "input_audio"), "must be an object",
                    api::ProblemType::kObjectType);
    } else {
      problems_.Add(Below(place, "type"), std::string(kPartTypes), api::ProblemType::kChoice);
    }
    return std::nullopt;
  }

  static MediaBlock UploadedFile(const std::string& id, MediaBlock::Type type) {
    MediaBlock block;
    block.type = type;
    block.media.kind = MediaReference::Kind::kFileId;
    block.media.file_id = id;
    return block;
  }

  // A stored call or result without an id or a name would be lost when it is read again.
  const std::string* RequiredName(const json& item, const char* member, const Location& place) {
    const std::string* name = RequiredText(item, member, place, problems_);
    if (name == nullptr || !name->empty()) return name;
    problems_.Add(Below(place, member), "must not be empty", api::ProblemType::kValue);
    return nullptr;
  }

  void ReadCall(const json& item, const Location& place) {
    const std::string* id = RequiredName(item, "call_id", place);
    const std::string* name = RequiredName(item, "name", place);
    const std::string* arguments = TextMember(item, "arguments", place, problems_);
    if (id == nullptr || name == nullptr) return;
    Answer(false).content.emplace_back(
        ToolCallBlock{.id = *id,
                      .name = *name,
                      .arguments_json = ReadArguments(arguments != nullptr ? *arguments : "")});
  }

  void ReadResult(const json& item, const Location& place) {
    const std::string* id = RequiredName(item, "call_id", place);
    Message parts;
    parts.role = Role::kTool;
    ReadContent(item, "output", place, parts);
    if (id == nullptr) return;
    ToolResultBlock result;
    result.call_id = *id;
    result.output_json.clear();
    AppendJsonString(result.output_json, facades::TakeResultText(*id, parts, attachments_));
    Message& message = messages_.emplace_back();
    message.role = Role::kTool;
    message.content.emplace_back(std::move(result));
  }

  // Models take nothing between the results of parallel calls, so that the attachments follow the
  // last of them.
  void AddAttachments() {
    if (attachments_.content.empty()) return;
    messages_.push_back(std::exchange(attachments_, Message()));
  }

  void ReadTexts(const json& item, const char* member, const Location& place,
                 std::vector<std::string>& texts) {
    const json* parts = api::FindMember(item, member);
    if (parts == nullptr) return;
    if (!parts->is_array()) {
      problems_.Add(Below(place, member), "must be an array", api::ProblemType::kArrayType);
      return;
    }
    for (size_t i = 0; i < parts->size(); ++i) {
      const Location part = Below(Below(place, member), std::to_string(i));
      if (!(*parts)[i].is_object()) {
        problems_.Add(part, "must be an object", api::ProblemType::kObjectType);
        continue;
      }
      const std::string* text = RequiredText((*parts)[i], "text", part, problems_);
      if (text != nullptr) texts.push_back(*text);
    }
  }

  void ReadReasoning(const json& item, const Location& place) {
    std::vector<std::string> summaries;
    ReasoningBlock block;
    ReadTexts(item, "summary", place, summaries);
    ReadTexts(item, "content", place, block.details);
    for (const std::string& text : summaries) block.summary += text;
    const std::string* signature = TextMember(item, "encrypted_content", place, problems_);
    if (signature != nullptr) block.signature = *signature;
    Message& answer = Answer(true);
    for (ReasoningBlock& one : reasoning_.Split(std::move(block))) {
      // An item without texts and encrypted content is left out.
      if (!one.summary.empty() || !one.details.empty() || !one.signature.empty()) {
        answer.content.emplace_back(std::move(one));
      }
    }
  }

  void ReadReference(const json& item, const Location& place) {
    const std::string* id = RequiredText(item, "id", place, problems_);
    if (id == nullptr) return;
    if (++references_ > kReferencesMax) {
      problems_.Add(place, "is one reference too many: 1000 are allowed",
                    api::ProblemType::kTooLong);
      return;
    }
    const std::optional<ItemName> name = ParseItemId(*id);
    if (name && IsTaken(*name)) return;
    Result<Message> found = name ? find_message_(*name) : Result<Message>(NotFound("no item"));
    if (!found.ok()) {
      const bool is_too_large = found.status().code() == StatusCode::kResourceExhausted;
      problems_.Add(Below(place, "id"),
                    is_too_large ? found.status().message() : "is not an item of a stored response",
                    is_too_large ? api::ProblemType::kTooLong : api::ProblemType::kValue);
      return;
    }
    // A call may be in the message that handed it to the client.
    if (found->role != Role::kAssistant && name->kind != ItemKind::kCall) {
      found->id.clear();
      messages_.push_back(*std::move(found));
      return;
    }
    TakeParts(*name, *std::move(found));
  }

  // The texts, the reasoning and the results of a message may be several items. The first reference
  // to one of them brings all of its kind, so those to the others bring nothing.
  bool IsTaken(ItemName name) {
    if (name.kind == ItemKind::kCall) return false;
    const std::string part = std::exchange(name.part, {});
    const auto [first, is_new] = taken_.try_emplace(ItemId(name), part);
    return !is_new && first->second != part;
  }

  void TakeParts(const ItemName& name, Message found) {
    Message& answer = Answer(name.kind == ItemKind::kMessage);
    for (ContentBlock& block : found.content) {
      auto* call = std::get_if<ToolCallBlock>(&block);
      if (call != nullptr) call->remote = false;  // the request has its result
      const bool is_named = call != nullptr ? name.kind == ItemKind::kCall && call->id == name.part
                                            : std::holds_alternative<ReasoningBlock>(block) ==
                                                  (name.kind == ItemKind::kReasoning);
      if (is_named && (call != nullptr || name.kind != ItemKind::kCall)) {
        AddToAnswer(answer, std::move(block));
      }
    }
  }

  const api::MessageLimits& limits_;
  const StoredMessageLookup& find_message_;
  api::Problems& problems_;
  std::vector<Message> messages_;
  std::vector<size_t> first_items_;  // for each message the index of its first item
  bool answer_has_text_ = false;     // the last message, if it is the assistant's
  Message attachments_;              // the images and files of the results before
  facades::ReasoningSplitter reasoning_;
  size_t references_ = 0;
  // For each kind of items of a message: the part that the first reference to one has named.
  std::unordered_map<std::string, std::string> taken_;
};

}  // namespace

std::vector<Message> ReadInput(const json& input, const api::MessageLimits& limits,
                               const StoredMessageLookup& find_message, api::Problems& problems) {
  const Location place = {"body", "input"};
  if (input.is_string()) return {Message::User(input.get<std::string>())};
  if (!input.is_array() || input.empty()) {
    problems.Add(place, "must be a string or an array of items, and not empty",
                 api::ProblemType::kValue);
    return {};
  }
  return ReadItems(input, place, limits, find_message, problems);
}

std::vector<Message> ReadItems(const json& items, const Location& place,
                               const api::MessageLimits& limits,
                               const StoredMessageLookup& find_message, api::Problems& problems) {
  return InputReader(limits, find_message, problems).Read(items, place);
}

}  // namespace agent_graph::openai
