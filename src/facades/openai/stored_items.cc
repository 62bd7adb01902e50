#include "facades/openai/stored_items.h"

#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "facades/openai/object_ids.h"
#include "facades/openai/response_items.h"
#include "message/broken_arguments.h"

namespace agent_graph::openai {
namespace {

json MediaPart(const MediaBlock& block) {
  const MediaReference& media = block.media;
  const bool is_image = block.type == MediaBlock::Type::kImage;
  json part = {{"type", is_image ? "input_image" : "input_file"}};
  if (is_image) part["detail"] = "auto";
  if (!media.filename.empty()) part["filename"] = media.filename;
  if (media.kind == MediaReference::Kind::kFileId) {
    part["file_id"] = media.file_id;
  } else if (media.kind == MediaReference::Kind::kUrl) {
    part[is_image ? "image_url" : "file_url"] = media.url;
  } else {
    part[is_image ? "image_url" : "file_data"] =
        "data:" + media.mime_type + ";base64," + media.data_base64;
  }
  return part;
}

json ResultItem(std::string id, const ToolResultBlock& result) {
  const Result<json> output = ParseJson(result.output_json);
  const bool is_text = output.ok() && output->is_string();
  return {{"id", std::move(id)},
          {"type", "function_call_output"},
          {"status", "completed"},
          {"call_id", result.call_id},
          {"output", is_text ? output->get<std::string>() : result.output_json}};
}

class ItemWriter {
 public:
  ItemWriter(const std::string& thread_id, const Message& message, std::vector<std::string>& items)
      : thread_id_(thread_id), message_(message), items_(items) {}

  void Write() {
    for (const ContentBlock& block : message_.content) {
      if (const auto* text = std::get_if<TextBlock>(&block)) {
        AddText(*text);
      } else if (const auto* media = std::get_if<MediaBlock>(&block)) {
        content_.push_back(MediaPart(*media));
      } else {
        EndMessage();
        AddItem(block);
      }
    }
    EndMessage();
  }

 private:
  bool IsAnswer() const { return message_.role == Role::kAssistant; }

  std::string IdOf(ItemKind kind, const std::string& part) const {
    return ItemId({kind, thread_id_, message_.id, part});
  }

  // The second item of a kind has the number 1.
  std::string NextId(ItemKind kind, size_t& earlier) const {
    const size_t number = earlier++;
    return IdOf(kind, number == 0 ? std::string() : std::to_string(number));
  }

  void AddText(const TextBlock& text) {
    json part = {{"type", IsAnswer() ? "output_text" : "input_text"}, {"text", text.text}};
    if (IsAnswer()) part["annotations"] = json::array();
    content_.push_back(std::move(part));
  }

  void AddItem(const ContentBlock& block) {
    if (const auto* result = std::get_if<ToolResultBlock>(&block)) {
      items_.push_back(DumpJson(ResultItem(IdOf(ItemKind::kCallOutput, result->call_id), *result)));
    } else if (const auto* call = std::get_if<ToolCallBlock>(&block)) {
      items_.push_back(CallItem(IdOf(ItemKind::kCall, call->id), "completed", *call,
                                message::WrittenArguments(call->arguments_json)));
    } else if (const auto* reasoning = std::get_if<ReasoningBlock>(&block)) {
      const std::string parts = reasoning->summary.empty() ? "" : SummaryPart(reasoning->summary);
      items_.push_back(
          ReasoningItem(NextId(ItemKind::kReasoning, reasoning_items_), "completed", parts, ""));
    }
  }

  // Ends the message item that has the texts and files since the last item.
  void EndMessage() {
    if (content_.empty()) return;
    items_.push_back(DumpJson({{"id", NextId(ItemKind::kMessage, message_items_)},
                               {"type", "message"},
                               {"status", "completed"},
                               {"role", RoleName(message_.role)},
                               {"content", std::exchange(content_, json::array())}}));
  }

  const std::string& thread_id_;
  const Message& message_;
  std::vector<std::string>& items_;
  json content_ = json::array();
  size_t message_items_ = 0;
  size_t reasoning_items_ = 0;
};

}  // namespace

void AppendInputItems(const std::string& thread_id, const Message& message,
                      std::vector<std::string>& items) {
  ItemWriter(thread_id, message, items).Write();
}

bool HandsOutCalls(const Message& message) {
  return message.role != Role::kAssistant && !message.ToolCalls().empty();
}

}  // namespace agent_graph::openai
